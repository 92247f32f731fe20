//! The paper's experiments that train, as data: what is trained, what is claimed of it, and what is drawn.

use super::experiment::{Experiment, Runner};
use super::judging::Threshold::{Above, AtLeast, AtMost, Below};
use super::judging::{
    ClaimSpec, all_positive, change, claim, differences, every, is_not_linear, median_between,
    others_are_small, rises,
};
use super::plots::FigureSpec::{Comparison, Explained, Parameters, ValueError};
use super::statistics::{bootstrap, mean_interval, median, median_interval};
use super::table::{EvaluationPlan, ExperimentSpec, run};
use crate::run::report::{Source, Verdict};
use ictd_core::metrics::FORM_SHARE;

/// Returns the words of a section.
const fn section_5(quote: &'static str) -> Source {
    Source::paper("Section 5", quote)
}
const fn app_d1(quote: &'static str) -> Source {
    Source::paper("App. D.1", quote)
}
pub(super) const fn app_d2(quote: &'static str) -> Source {
    Source::paper("App. D.2", quote)
}
const fn app_d3(quote: &'static str) -> Source {
    Source::paper("App. D.3", quote)
}
const fn app_e(quote: &'static str) -> Source {
    Source::paper("App. E", quote)
}

/// Section 5, Figure 2.
pub const FIGURE_2: Experiment = table(
    "figure-2",
    "Figure 2: P and Q learned with L = 3, and their learning progress",
    ExperimentSpec {
        about: "Section 5. Multi-task TD on 4000 Boyan chains of 10 states, d = 4, n = 30, 30 seeds; no \
                entry of P or Q is fixed. Q takes Theorem 1's form, up to a scale and a common sign; P has \
                diagonals besides.",
        runs: &[run("linear-l3", "", "L = 3", FIGURE_2_CLAIMS)],
        figures: &[Parameters("figure-2", "linear-l3")],
        emergence: Some("linear-l3"),
        ..TRAINED
    },
);
const FIGURE_2_CLAIMS: &[ClaimSpec] = &[
    P_BY_ITS_MEASURE,
    P_HAS_MORE,
    Q_BY_ITS_MEASURE,
    Q_STRICTLY,
    BALANCED,
    IS_TD0,
    IWS_NEAR_1,
    VD_VANISHES,
];

/// The paper's measure, which names no number: the mean absolute value of the others, where the largest is 1.
pub(super) const P_BY_ITS_MEASURE: ClaimSpec = claim(
    "P is Theorem 1's by the paper's measure (|others| beside the largest entry)",
    section_5("the average absolute value of all other elements remain close to zero"),
    |of| others_are_small(of, "p_others_scaled_0"),
)
.with_medians(&["p_others_of_mean"]);
const Q_BY_ITS_MEASURE: ClaimSpec = claim(
    "Q's others vanish by the paper's measure",
    section_5("the average absolute value of all the other elements in Q_0 remain near zero"),
    |of| others_are_small(of, "q_others_scaled_0"),
);
const OUR_SPECIFICATIONS: Source = section_5("closely match our specifications").variant();
pub(super) const P_STRICTLY: ClaimSpec = every(
    "P takes Theorem 1's form strictly: at least 0.9 of its squared norm is in P[-1,-1]",
    OUR_SPECIFICATIONS,
    "p_form_0",
    AtLeast(FORM_SHARE),
)
.with_medians(&["p_block_00_0", "p_block_01_0", "p_block_10_0", "p_block_11_0"]);
/// P of layers that share it has diagonals in its blocks, too.
const P_HAS_MORE: ClaimSpec = P_STRICTLY.refuted();
const Q_STRICTLY: ClaimSpec = every(
    "Q takes Theorem 1's form strictly: at least 0.9 of its squared norm",
    OUR_SPECIFICATIONS,
    "q_form_0",
    AtLeast(FORM_SHARE),
)
.with_medians(&["q_form_one_layer_0", "q_form_residual_0"]);
const BALANCED: ClaimSpec = claim(
    "Q's two diagonals are C and -C",
    section_5("the trace of the upper right block (excluding the last column) approaches d"),
    |of| {
        let ratios = of.values("q_ratio_0");
        median_between("right / left", &ratios, [0.9, 1.1], [0.67, 1.5])
    },
);
/// Batch TD(0) is what the trained function is: of the classical algorithms, each with step sizes fitted on other
/// tasks, it explains most of v_TF, and at least nine tenths.
pub const IS_TD0: ClaimSpec = every(
    "its function is batch TD(0)'s: no other explains more of it",
    app_d2("learn to implement TD(0)"),
    "expected",
    AtLeast(EXPLAINED),
)
.with_medians(&[
    "explained by TD(0)",
    "explained by TD(0.3)",
    "explained by TD(0.6)",
    "explained by TD(0.9)",
    "explained by residual gradient",
]);
/// It falls to 7 % of the mean square of v_TD, in the median, and in too many seeds to more than 10 %.
const VD_VANISHES: ClaimSpec = every(
    "VD vanishes: it ends below a tenth of its first value and of mean v_TD^2",
    app_d2("the value difference approaches zero during training"),
    "vd_part",
    Below(0.1),
)
.refuted();
const IWS_NEAR_1: ClaimSpec = every(
    "IWS (= SS) near 1, with the converged learning rate",
    app_d2("near one, as are the implicit weight similarities"),
    "iws_converged",
    Above(0.95),
)
.with_medians(&["iws", "one_step"]);

/// Section 5, Algorithm 1 as it is printed.
pub const ALGORITHM_1: Experiment = table(
    "algorithm-1",
    "Algorithm 1 to the letter: one trajectory of each task, plain TD after each window",
    ExperimentSpec {
        about: "One trajectory of tau = 347 steps of each task, and a plain TD update after each of its 317 \
                windows (t = 0 to tau - n - 1; the text says 320), where the authors' code makes 5 steps of Adam. \
                The paper gives no step size but Adam's, 0.001.",
        runs: &[run(
            "algorithm-1",
            "--optimizer td --batches 1 --batch-size 317 --learning-rate 0.0003",
            "plain TD, step size 0.0003",
            &[P_STRICTLY, Q_STRICTLY, IS_TD0.variant(), IWS_NEAR_1.variant()],
        )],
        figures: &[
            Parameters("algorithm-1", "algorithm-1"),
            Comparison("similarity", "Algorithm 1 to the letter against batch TD"),
        ],
        ..TRAINED
    },
);

/// Section 5: tasks with a fixed part.
pub const ABLATION: Experiment = table(
    "ablation",
    "Section 5: the tasks have to be difficult enough, (p_0, p) or phi fixed",
    ExperimentSpec {
        about: "As Figure 2, with (p_0, p) or phi the same in all tasks of a seed: those of its first. The function is \
                judged on tasks without a fixed part.",
        runs: &[
            // With fixed (p_0, p) TD emerges as without.
            run(
                "fixed-dynamics",
                "--fixed dynamics",
                "(p_0, p) fixed",
                &[Q_LACKS_FORM.refuted(), IS_NOT_TD0.refuted()],
            ),
            run("fixed-features", "--fixed features", "phi fixed", &[Q_LACKS_FORM, IS_NOT_TD0]),
        ],
        figures: &[
            Parameters("fixed-dynamics", "fixed-dynamics"),
            Parameters("fixed-features", "fixed-features"),
            Comparison("ablation", "Tasks with a fixed part, against batch TD"),
        ],
        ..TRAINED
    },
);
const NOT_OBSERVED: Source = section_5("we did not observe the emergence of in-context TD");
const Q_LACKS_FORM: ClaimSpec =
    every("Theorem 1's form of Q does not emerge", NOT_OBSERVED, "q_form_0", Below(FORM_SHARE));
const IS_NOT_TD0: ClaimSpec = every(
    "nor batch TD(0)'s function, on tasks without a fixed part",
    NOT_OBSERVED,
    "explained by TD(0)",
    Below(EXPLAINED),
);

/// App. "Autoregressive Linear Transformers".
pub const AUTOREGRESSIVE: Experiment = table(
    "autoregressive",
    "App. figure: autoregressive linear transformers, L = 2, 4",
    ExperimentSpec {
        about: "As Figure 2 with other depths; one layer is `one-layer`.",
        runs: &[
            run("linear-l2", "--layers 2", "L = 2", TO_THEOREM_1S_FORM),
            run("linear-l4", "--layers 4", "L = 4", TO_THEOREM_1S_FORM),
        ],
        evaluation: EvaluationPlan::NOTHING,
        figures: &[
            Parameters("autoregressive-l2", "linear-l2"),
            Parameters("autoregressive-l4", "linear-l4"),
        ],
        ..TRAINED
    },
);
const TO_THEOREM_1: Source = app_d2("converge to the construction in Theorem 1");
const TO_THEOREM_1S_FORM: &[ClaimSpec] = &[
    P_BY_ITS_MEASURE.stated(TO_THEOREM_1),
    P_HAS_MORE,
    Q_BY_ITS_MEASURE.stated(TO_THEOREM_1),
    Q_STRICTLY,
];

/// App. figure "comparison with batch TD".
pub const COMPARISON: Experiment = table(
    "comparison",
    "App. figure: linear transformers against batch TD, L = 1 to 4, d = 8",
    ExperimentSpec {
        about: "The learned value function against batch TD's with a trained learning rate. The last run \
                has d = 8, n = 60 and 20 states. The other claims about L = 3 stand in `figure-2`.",
        runs: &[
            run("linear-l1", "--layers 1", "L = 1", NEAR_BATCH_TD),
            run("linear-l2", "--layers 2", "L = 2", LESS_NEAR),
            run("linear-l3", "", "L = 3", &[ALPHA_CONVERGES]),
            run("linear-l4", "--layers 4", "L = 4", LESS_NEAR),
            run("linear-l3-d8", D_8, "L = 3, d = 8, n = 60", NEAR_BATCH_TD),
        ],
        claims: &[ALIGNS, NOT_LINEAR],
        figures: &[
            Comparison("comparison", "Linear transformers against batch TD"),
            Explained("functions", "Which algorithm linear transformers are", 3),
        ],
        ..TRAINED
    },
);
pub(super) const D_8: &str = "--dim 8 --context-length 60 --states 20";
const NEAR_BATCH_TD: &[ClaimSpec] = &[ALPHA_CONVERGES, IS_TD0, IWS_NEAR_1, VD_VANISHES];
/// TD(0) is best, and explains less than nine tenths in too many seeds.
const MOST_OF_IT: ClaimSpec = IS_TD0.refuted();
const LESS_NEAR: &[ClaimSpec] = &[ALPHA_CONVERGES, MOST_OF_IT, IWS_NEAR_1, VD_VANISHES];
const ALPHA_CONVERGES: ClaimSpec = every(
    "batch TD's learning rate stays within a tenth of its end after a quarter of the tasks",
    app_d1("quickly converges"),
    "alpha_settled",
    AtMost(0.25),
)
.with_medians(&["alpha_converged"]);
/// One layer has no use for half of Q, so that those of 2 to 4 are compared.
const ALIGNS: ClaimSpec = claim(
    "P and Q align with C = I as L grows",
    app_d2("the learned parameters are more aligned with the construction"),
    |of| {
        let [two, three, four] = ["linear-l2", "linear-l3", "linear-l4"]
            .map(|run| of.other_run(run).values("alignment_0"));
        let more = |a: &[f64], b: &[f64]| bootstrap([a, b], |[a, b]| median(b) - median(a));
        let medians = [&two, &three, &four].map(|of| format!("{:.3}", median(of))).join(", ");
        let what = format!("share of P (x) Q along it, L = 2 to 4: {medians}; more by");
        let steps = [more(&two, &three), more(&three, &four)];
        all_positive(&what, &steps, Some(more(&two, &four)))
    },
)
.refuted();
/// The mask keeps the query out of the keys.
const NOT_LINEAR: ClaimSpec = claim(
    "v_TF is not linear in the query",
    app_d1("not linear even with a linear transformer"),
    |of| {
        let runs = ["linear-l1", "linear-l2", "linear-l3", "linear-l4", "linear-l3-d8"];
        is_not_linear(&runs.map(|run| of.other_run(run).values("nonlinear")).concat())
    },
)
.refuted();

/// App. "Sequential Transformers".
pub const SEQUENTIAL: Experiment = table(
    "sequential",
    "App. figures: sequential linear transformers, L = 2, 3, 4",
    ExperimentSpec {
        about: "As Figure 2, each layer with its own pair, which starts a factor L smaller as in the authors' code.",
        runs: &[
            run(
                "sequential-l2",
                "--layer-sharing sequential --layers 2",
                "own layers, L = 2",
                OF_TWO,
            ),
            run(
                "sequential-l3",
                "--layer-sharing sequential --layers 3",
                "own layers, L = 3",
                OF_THREE,
            ),
            run(
                "sequential-l4",
                "--layer-sharing sequential --layers 4",
                "own layers, L = 4",
                OF_FOUR,
            ),
        ],
        figures: &[
            Comparison("sequential", "Sequential linear transformers against batch TD"),
            Explained("functions", "Which algorithm sequential linear transformers are", 3),
            Parameters("sequential-l3", "sequential-l3"),
        ],
        ..TRAINED
    },
);
const OF_TWO: &[ClaimSpec] = &[CLOSE.refuted(), GROWS, FALLS];
const OF_THREE: &[ClaimSpec] = &[CLOSE, GROWS, FALLS, FIRST_P, FIRST_Q, FADES, P_FOLLOWS, P_LAST];
const OF_FOUR: &[ClaimSpec] = &[CLOSE, GROWS, FALLS];
const CLOSE: ClaimSpec = IS_TD0.stated(app_d3("functionally close to batch TD"));
const GROWS: ClaimSpec = IWS_NEAR_1.stated(app_d3("grow drastically to near 1"));
const FALLS: ClaimSpec = every(
    "VD falls below a fifth of its first value and of mean v_TD^2",
    app_d3("the value difference drops considerably"),
    "vd_part",
    Below(0.2),
);
const INPUT_LAYER: Source =
    app_d3("the input layer converges to a pattern very close to our configuration");
const FIRST_P: ClaimSpec = P_HAS_MORE.stated(INPUT_LAYER);
const FIRST_Q: ClaimSpec = Q_STRICTLY.stated(INPUT_LAYER).refuted();
const FADES: ClaimSpec = claim(
    "Q's right diagonal fades with depth",
    app_d3("the deeper the layer, we observe the more the diagonal of"),
    |of| {
        let size = |l| of.values(&format!("q_ratio_{l}")).into_iter().map(f64::abs).collect();
        let sizes: [Vec<f64>; 3] = [0, 1, 2].map(size);
        let fall = |a: usize, b: usize| median_interval(&differences(&sizes[b], &sizes[a]));
        let medians = sizes.each_ref().map(|of| format!("{:.3}", median(of))).join(", ");
        let what = format!("relative to the left one: {medians}; falls by");
        all_positive(&what, &[fall(0, 1), fall(1, 2)], Some(fall(0, 2)))
    },
);
const P_FOLLOWS: ClaimSpec = every(
    "P has Theorem 1's form in every layer",
    app_d3("follow our configuration closely"),
    "p_form_least",
    AtLeast(FORM_SHARE),
)
.refuted();
const P_LAST: ClaimSpec = claim(
    "P follows it most closely in the last of three layers",
    app_d3("especially for the final layer"),
    |of| {
        let share = |l| of.values(&format!("p_form_{l}"));
        let last = share(2);
        let gains = [0, 1].map(|l| median_interval(&differences(&share(l), &last)));
        let what = format!("share of P's energy {:.3}; more than before by", median(&last));
        all_positive(&what, &gains, None)
    },
);

/// App. "Nonlinear Attention".
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
            ),
            run(
                "softmax-representable",
                "--attention softmax --task boyan-representable",
                "softmax, representable values",
                &[IWS_RISES, SS_RISES],
            ),
        ],
        figures: &[Comparison("softmax", "Softmax transformers against batch TD, L = 3")],
        ..TRAINED
    },
);
/// It begins at about all of the mean square of v_TD, as v_TF begins near 0.
const VD_SMALL: ClaimSpec = every(
    "VD ends small: below a tenth of mean v_TD^2",
    app_e("the value difference remains small"),
    "vd_relative",
    Below(0.1),
)
.refuted();
const IWS_RISES: ClaimSpec =
    claim("IWS increases", app_e("the implicit weight similarity increases"), |of| {
        rises(of, "iws")
    });
const SS_RISES: ClaimSpec =
    claim("SS increases", app_e("the sensitivity similarity now increases"), |of| rises(of, "ss"));
/// It drops from its highest tenth of the log. Which tenth that is, is taken from half of the seeds, since the
/// highest of ten noisy means is high by chance; the other half is judged.
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
        (measured, Verdict::of(change.high < 0.0).unless_nan(change.numbers()))
    },
);
const SOFTMAX_NOT_LINEAR: ClaimSpec =
    claim("v_TF is not linear in the query", app_e("unlikely to be a linear function"), |of| {
        is_not_linear(&of.values("nonlinear"))
    });

/// App. "Experiments with CartPole Environment".
pub const CART_POLE: Experiment = table(
    "cart-pole",
    "App. figure: CartPole, n = 250, 10,000 MRPs",
    ExperimentSpec {
        about: "Three linear layers that share P and Q, n = 250, 10,000 CartPole MRPs with random physics, policy, \
                features and rewards. States lie in a tile of each of four tilings, and features are sums.",
        runs: &[run(
            "cart-pole",
            "--task cartpole --context-length 250 --tasks 10000",
            "CartPole",
            &[
                P_BY_ITS_MEASURE.stated(STILL_CONVERGE).refuted(),
                P_HAS_MORE,
                Q_BY_ITS_MEASURE.stated(STILL_CONVERGE).refuted(),
                Q_STRICTLY.refuted(),
                MOST_OF_IT.variant(),
            ],
        )],
        figures: &[Parameters("cart-pole", "cart-pole")],
        emergence: Some("cart-pole"),
        ..TRAINED
    },
);
const STILL_CONVERGE: Source =
    Source::paper("App. F.2", "still converge to the construction in Theorem 1 (up to some noise)");

/// App. "Multi-task TD with Deep RNN": the learning curve.
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
        let (measured, change) = change(of, "msve", 0.0);
        let verdict = Verdict::of(change.high < 0.0).unless_nan(change.numbers());
        (format!("{measured}, needs < 0"), verdict)
    },
);

/// The share that an algorithm must explain of a function to be it.
pub(super) const EXPLAINED: f64 = 0.9;

/// A table that measures which algorithm each seed has learned.
const TRAINED: ExperimentSpec =
    ExperimentSpec { evaluation: EvaluationPlan::FUNCTION, ..ExperimentSpec::EMPTY };

/// Returns an experiment that is data.
pub(super) const fn table(
    id: &'static str,
    figure: &'static str,
    table: ExperimentSpec,
) -> Experiment {
    Experiment { id, figure, figures: |_| Ok(Vec::new()), run: Runner::Spec(table) }
}
