//! The paper's experiments of its later appendices: sequential and softmax transformers, CartPole, the RNN.

use super::experiment::{EvaluationPlan, Experiment, ExperimentSpec, TrainingRun, run, table};
use super::judging::Threshold::AtMost;
use super::judging::{
    ClaimSpec, all_positive, change, claim, diagonals_ratio, differences, falls, is_not_linear,
    most, others_are_small, rises,
};
use super::paper::{
    BALANCED, IS_PRECONDITIONED, IS_TD0, IWS_NEAR_1, LOSES_LITTLE, P_HAS_MORE, P_MATCHES,
    Q_MATCHES, Q_STRICTLY, TRAINED, vd_is_below,
};
use super::plots::FigureSpec::{Comparison, Explained, Parameters, ValueError};
use super::statistics::{mean_interval, resampled};
use crate::run::report::{Source, Verdict};

const fn app_d3(quote: &'static str) -> Source {
    Source::paper("App. D.3", quote)
}
const fn app_e(quote: &'static str) -> Source {
    Source::paper("App. E", quote)
}

pub const SEQUENTIAL: Experiment = table(
    "sequential",
    "App. figures: sequential linear transformers, L = 2, 3, 4",
    ExperimentSpec {
        about: "As Figure 2, each layer with its own pair, which starts a factor L smaller as in the authors' code.",
        runs: SEQUENTIAL_RUNS,
        figures: &[
            Comparison("sequential", "Sequential linear transformers against batch TD"),
            Explained("functions", "Which algorithm sequential linear transformers are", 3),
            Parameters("sequential-l3", "sequential-l3"),
        ],
        ..TRAINED
    },
);
const SEQUENTIAL_RUNS: &[TrainingRun] = &[
    run("sequential-l2", "--layer-sharing sequential --layers 2", "own layers, L = 2", OF_TWO),
    run("sequential-l3", "--layer-sharing sequential --layers 3", "own layers, L = 3", OF_THREE),
    run("sequential-l4", "--layer-sharing sequential --layers 4", "own layers, L = 4", OTHERS),
];
/// With two layers it leads in most seeds, and explains 0.95 in too few.
const OF_TWO: &[ClaimSpec] = &[GROWS, FALLS, CLOSE, IS_PRECONDITIONED.refuted(), LOSES_LITTLE];
const OTHERS: &[ClaimSpec] = &[GROWS, FALLS, CLOSE, IS_PRECONDITIONED, LOSES_LITTLE];
const OF_THREE: &[ClaimSpec] = &[
    GROWS,
    FALLS,
    P_MATCHES.stated(INPUT_LAYER),
    Q_MATCHES.stated(INPUT_LAYER),
    BALANCED.stated(INPUT_LAYER),
    FADES,
    P_FOLLOWS,
    P_LAST,
    CLOSE,
    P_HAS_MORE.stated(INPUT_LAYER.variant()),
    Q_STRICTLY.stated(INPUT_LAYER.variant()),
    P_FOLLOWS_STRICTLY,
    IS_PRECONDITIONED,
    LOSES_LITTLE,
];
const CLOSE: ClaimSpec = IS_TD0.stated(app_d3("functionally close to batch TD").variant());
const GROWS: ClaimSpec = IWS_NEAR_1.stated(app_d3("grow drastically to near 1"));
const FALLS: ClaimSpec = claim(
    "VD falls to less than a fifth of mean v_TD^2, seeds averaged",
    app_d3("the value difference drops considerably"),
    |of| vd_is_below(of, 0.2),
);
const INPUT_LAYER: Source =
    app_d3("the input layer converges to a pattern very close to our configuration");
const FADES: ClaimSpec = claim(
    "Q's right diagonal fades with depth, relative to the left one",
    app_d3("the deeper the layer, we observe the more the diagonal of"),
    |of| {
        let [first, second, last] = [0, 1, 2].map(|l| diagonals_ratio(of, l).estimate.abs());
        let fall = |a: usize, b: usize| {
            let of = |l: usize, side: &str| of.values(&format!("q_trace_upper_{side}_{l}"));
            let traces = [a, b].map(|l| [of(l, "right"), of(l, "left")]);
            resampled([traces[0][0].len()], |[seeds]| {
                let sum = |of: &Vec<f64>| seeds.iter().map(|s| of[*s]).sum::<f64>();
                let [a, b] = traces.each_ref().map(|[right, left]| (sum(right) / sum(left)).abs());
                a - b
            })
        };
        let what = format!("seeds averaged: {first:.3}, {second:.3}, {last:.3}; falls by");
        all_positive(&what, &[fall(0, 1), fall(1, 2)], Some(fall(0, 2)))
    },
);
const FOLLOWS: Source = app_d3("follow our configuration closely");
const P_FOLLOWS: ClaimSpec =
    claim("P's other entries are small beside the largest, in each layer", FOLLOWS, |of| {
        others_are_small(of, "p_others_of_mean", 3)
    });
const P_FOLLOWS_STRICTLY: ClaimSpec = claim(
    "in a seed, no diagonal of P's blocks is more than a tenth of P[-1,-1] in any layer",
    FOLLOWS.variant(),
    |of| most(of, [("p_blocks_most", AtMost(0.1))]),
)
.refuted();
const P_LAST: ClaimSpec = claim(
    "P's other entries become smaller from layer to layer",
    app_d3("especially for the final layer"),
    |of| {
        let metrics = ["p_others_of_mean_0", "p_others_of_mean_1", "p_others_of_mean_2"];
        falls(&[of; 3], &metrics)
    },
);

pub const SOFTMAX: Experiment = table(
    "softmax",
    "App. figure: softmax transformers, general and representable values",
    ExperimentSpec {
        about: "Three layers of softmax attention that share P and Q, on Boyan's chain with random \
                rewards and with a representable value function.",
        runs: &[
            run(
                "softmax-general",
                "--attention softmax",
                "softmax",
                &[VD_SMALL, IWS_RISES, SS_DROPS, SOFTMAX_NOT_LINEAR],
            )
            .of_seeds(FEW),
            run(
                "softmax-representable",
                "--attention softmax --task boyan-representable",
                "softmax, representable values",
                &[IWS_RISES, SS_RISES],
            )
            .of_seeds(FEW),
        ],
        evaluation: EvaluationPlan { lost: false, ..EvaluationPlan::FUNCTION },
        figures: &[Comparison("softmax", "Softmax transformers against batch TD, L = 3")],
        bases: 1,
        ..TRAINED
    },
);
/// VD begins at about the mean of v_TD^2, as v_TF begins near 0.
const VD_SMALL: ClaimSpec = claim(
    "VD ends below a tenth of mean v_TD^2, seeds averaged",
    app_e("the value difference remains small"),
    |of| vd_is_below(of, 0.1),
)
.refuted();
const IWS_RISES: ClaimSpec =
    claim("IWS increases", app_e("the implicit weight similarity increases"), |of| {
        rises(of, "iws")
    });
const SS_RISES: ClaimSpec =
    claim("SS increases", app_e("the sensitivity similarity now increases"), |of| rises(of, "ss"));
/// SS drops from its highest tenth of the log. Half of the seeds select this tenth, since the highest of ten noisy means is
/// high by chance; the other half tests the drop.
const SS_DROPS: ClaimSpec = claim(
    "SS drops",
    app_e("The sensitivity similarity, however, drops"),
    |of| {
        let tenth = |i: usize| of.values_at("ss_tenth", i as f64);
        let mean = |i: &usize| {
            let values = tenth(*i);
            let finite = values[..values.len() / 2].iter().copied().filter(|x| x.is_finite());
            mean_interval(&finite.collect::<Vec<_>>()).estimate
        };
        let known = (0..10).filter(|i| mean(i).is_finite());
        let highest = known.max_by(|a, b| mean(a).total_cmp(&mean(b))).unwrap_or(0);
        let (from, to) = (tenth(highest), tenth(9));
        let half = from.len() / 2;
        let change = mean_interval(&differences(&from[half..], &to[half..]));
        let measured = format!(
            "highest (in half of the seeds) in tenth {}; change to the last in the other half {change:.3}, needs < 0",
            highest + 1
        );
        // If the last tenth is the highest one, SS does not drop: the change is 0.
        let verdict = Verdict::told(change.high < 0.0, false, change.low >= 0.0);
        (measured, verdict.unless_nan(change.numbers()))
    },
);
const SOFTMAX_NOT_LINEAR: ClaimSpec =
    claim("v_TF is not linear in the query", app_e("unlikely to be a linear function"), |of| {
        is_not_linear(&of.values("nonlinear"))
    });

pub const CART_POLE: Experiment = table(
    "cart-pole",
    "App. figure: CartPole, n = 250, 10,000 MRPs",
    ExperimentSpec {
        about: "Three linear layers that share P and Q, n = 250, 10,000 CartPole MRPs with random physics, policy, \
                features and rewards. The paper's text: a state, coded by four tilings, is mapped to features that \
                are uniform in (-1, 1)^d. Two other readings stand beside it: each tiling has such features, \
                and they are summed; and the authors' code.",
        runs: &[
            run(
                CART_POLE_RUN,
                "--task cartpole-uniform --context-length 250 --tasks 10000",
                "CartPole",
                CART_POLE_CLAIMS,
            ),
            run(
                "cart-pole-sums",
                "--task cartpole --context-length 250 --tasks 10000",
                "CartPole, summed features",
                CART_POLE_VARIANT,
            )
            .of_seeds(FEW),
            run(
                "cart-pole-authors",
                "--task cartpole-authors --context-length 250 --tasks 10000",
                "CartPole, the authors' code",
                CART_POLE_VARIANT,
            )
            .of_seeds(FEW),
        ],
        figures: &[
            Parameters("cart-pole", CART_POLE_RUN),
            Parameters("cart-pole-sums", "cart-pole-sums"),
            Parameters("cart-pole-authors", "cart-pole-authors"),
        ],
        emergence: Some(CART_POLE_RUN),
        bases: 1,
        ..TRAINED
    },
);
/// The number of seeds of softmax transformers and of variants of CartPole, which train for minutes.
const FEW: usize = 16;
const CART_POLE_RUN: &str = "cart-pole";
const CART_POLE_CLAIMS: &[ClaimSpec] = &[
    P_MATCHES.stated(STILL_CONVERGE),
    Q_MATCHES.stated(STILL_CONVERGE),
    BALANCED.stated(STILL_CONVERGE).refuted(),
    P_HAS_MORE,
    Q_STRICTLY,
    IS_TD0,
    IS_PRECONDITIONED,
    LOSES_LITTLE,
];
const CART_POLE_VARIANT: &[ClaimSpec] = &[
    P_MATCHES.stated(STILL_CONVERGE.variant()),
    Q_MATCHES.stated(STILL_CONVERGE.variant()),
    BALANCED.stated(STILL_CONVERGE.variant()).refuted(),
    P_HAS_MORE,
    Q_STRICTLY.refuted(),
    IS_TD0.refuted(),
];
const STILL_CONVERGE: Source =
    Source::paper("App. F.2", "still converge to the construction in Theorem 1 (up to some noise)");

pub const RNN_LEARNING: Experiment = table(
    "rnn-learning",
    "App. figure: MSVE of an RNN during multi-task TD",
    ExperimentSpec {
        about: "A tanh RNN of 3 layers with 4 hidden units each reads the prompt token by token, with a \
                flag that marks the query, and is trained by the same algorithm on 4000 Boyan chains.",
        runs: &[run("rnn", "--network rnn", "RNN", &[ERROR_FALLS])],
        figures: &[ValueError("rnn-learning", "rnn", "An RNN trained by multi-task TD")],
        ..TRAINED
    },
);
const ERROR_FALLS: ClaimSpec = claim(
    "the value error falls and stays low",
    Source::paper("App. G.2", "decreases for the first 1,000 MRPs and stays low"),
    |of| {
        let (measured, change) = change(of, "msve");
        let verdict = Verdict::told(change.high < 0.0, false, change.low > 0.0);
        (format!("{measured}, needs < 0"), verdict.unless_nan(change.numbers()))
    },
);
