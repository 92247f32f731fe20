//! The experiments that train and judge the runs, as data: what is trained, what the paper claims of it, and
//! what is drawn.

use super::claims::{
    JudgedClaim, aligns_as_layers_grow, alpha_converges_quickly, claim, drops, error_falls,
    fades_with_depth, function_is_not_td0, function_is_td0, is_balanced, is_not_linear,
    iws_ends_near_one, p_has_form, p_has_form_in_every_layer, p_is_closest_in_the_last_layer,
    q_has_form, q_lacks_form, rises, stays_finite, vd_ends_small, vd_falls_below,
};
use super::experiment::Shown::{Comparison, Explained, Parameters, ValueError};
use super::experiment::{Entry, Run, Training, training_run as run};
use super::fresh::JudgedRun;
use super::panels::SHORT_CAPTION;
use crate::train::log::{IWS, SS};
use ictd_core::metrics::BlockForm;

/// Section 4, Figure 2.
pub const FIGURE_2: Entry = trained(
    "figure-2",
    "Figure 2: P and Q learned with L = 3, and their learning progress",
    Training {
        about: "Section 4. Multi-task TD on 4000 Boyan chains of 10 states, d = 4, n = 30, 30 seeds; no \
                entry of P or Q is fixed. Q takes Theorem 1's form, up to a scale and a common sign; P has \
                diagonals besides.",
        runs: &[run(
            "linear-l3",
            "",
            "L = 3",
            &[P_HAS_MORE, Q_TAKES_FORM, BALANCED, IS_TD0, IWS_NEAR_1, VD_VANISHES],
        )],
        figures: &[Parameters(
            "figure-2",
            "linear-l3",
            "TD(0) emerges: linear attention, L = 3, layers share P and Q",
        )],
        emergence: Some("linear-l3"),
        ..NOTHING
    },
);

const P_TAKES_FORM: JudgedClaim = claim(
    "P takes Theorem 1's form",
    "P[-1,-1] approaches one, the others remain close to zero",
    |run: &JudgedRun| p_has_form(&run.seeds, 0),
);
/// Of layers that share it, P has diagonals in its blocks, too.
const P_HAS_MORE: JudgedClaim = P_TAKES_FORM.refuted();
const Q_TAKES_FORM: JudgedClaim = claim(
    "Q takes Theorem 1's form",
    "traces near -d and d up to a scale, others near 0",
    |run: &JudgedRun| q_has_form(&run.seeds, 0, BlockForm::Td),
);
const BALANCED: JudgedClaim = claim(
    "Q's two diagonals are C and -C",
    "traces -d and d, up to a common scale",
    |run: &JudgedRun| is_balanced(&run.seeds),
);
const IS_TD0: JudgedClaim =
    claim("its function is batch TD(0)'s", "learn to implement TD(0)", function_is_td0);
const IWS_NEAR_1: JudgedClaim =
    claim("IWS (= SS) near 1", "near one, as are the sensitivities", iws_ends_near_one);
/// It falls to 7 % of the mean square of v_TD, in the median, and in too many seeds to more than 10 %.
const VD_VANISHES: JudgedClaim =
    claim("VD vanishes", "approaches zero", |run: &JudgedRun| vd_falls_below(run, 0.1)).refuted();

/// Section 4, Algorithm 1 as it is printed.
pub const ALGORITHM_1: Entry = trained(
    "algorithm-1",
    "Algorithm 1 to the letter: one trajectory of each task, plain TD after each window",
    Training {
        about: "One trajectory of tau = 347 steps of each task, and a plain TD update after each of its 317 \
                windows (t = 0 to tau - n - 1; the text says 320), where the authors' code makes 5 steps of Adam. \
                The paper gives no step size but Adam's, 0.001.",
        runs: &[
            run(
                "algorithm-1",
                "--optimizer td --batches 1 --batch-size 317 --lr 0.0003",
                "plain TD, step size 0.0003",
                &[P_TAKES_FORM, Q_TAKES_FORM, IS_TD0, IWS_NEAR_1, NO_SEED_DIVERGES],
            ),
            run(
                "algorithm-1-adams",
                "--optimizer td --batches 1 --batch-size 317 --lr 0.001 --mrps 1600",
                "plain TD, Adam's step size 0.001",
                &[SEEDS_DIVERGE],
            ),
        ],
        figures: &[
            Parameters(
                "algorithm-1",
                "algorithm-1",
                "Algorithm 1 to the letter: linear attention, L = 3, plain TD",
            ),
            Comparison("similarity", "Algorithm 1 to the letter against batch TD", EQUAL_COSINES),
        ],
        ..NOTHING
    },
);

const NO_SEED_DIVERGES: JudgedClaim =
    claim("no seed diverges", "(the paper says nothing of it)", |run: &JudgedRun| {
        stays_finite(&run.seeds)
    });

/// With Adam's step size.
const SEEDS_DIVERGE: JudgedClaim = NO_SEED_DIVERGES.refuted();

/// Section 4: "if (p_0, p) or phi are always fixed, we did not observe the emergence of in-context TD".
pub const ABLATION: Entry = trained(
    "ablation",
    "Section 4: the tasks have to be difficult enough, (p_0, p) or phi fixed",
    Training {
        about: "As Figure 2, with (p_0, p) or phi the same in all tasks of a seed: those of its first. The function is \
                judged on tasks without a fixed part.",
        runs: &[
            run(
                "fixed-dynamics",
                "--fixed dynamics",
                "(p_0, p) fixed",
                &[FORM_EMERGES_STILL, TD0_EMERGES_STILL],
            ),
            run("fixed-features", "--fixed features", "phi fixed", &[Q_LACKS_FORM, IS_NOT_TD0]),
        ],
        figures: &[
            Parameters("fixed-dynamics", "fixed-dynamics", "(p₀, p) the same in all tasks: L = 3"),
            Parameters("fixed-features", "fixed-features", "φ the same in all tasks: L = 3"),
            Comparison("ablation", "Tasks with a fixed part, against batch TD", EQUAL_COSINES),
        ],
        ..NOTHING
    },
);

const NOT_OBSERVED: &str = "we did not observe the emergence of in-context TD";
const Q_LACKS_FORM: JudgedClaim =
    claim("Theorem 1's form of Q does not emerge", NOT_OBSERVED, |run: &JudgedRun| {
        q_lacks_form(&run.seeds, 0, BlockForm::Td)
    });
const IS_NOT_TD0: JudgedClaim = claim(
    "nor batch TD(0)'s function, on tasks without a fixed part",
    NOT_OBSERVED,
    function_is_not_td0,
);

/// With fixed (p_0, p) as without.
const FORM_EMERGES_STILL: JudgedClaim = Q_LACKS_FORM.refuted();
const TD0_EMERGES_STILL: JudgedClaim = IS_NOT_TD0.refuted();

/// App. "Autoregressive Linear Transformers".
pub const AUTOREGRESSIVE: Entry = trained(
    "autoregressive",
    "App. figure: autoregressive linear transformers, L = 1, 2, 4",
    Training {
        about: "As Figure 2 with other depths. One layer learns the corollary's form (Q's right diagonal \
                gets no gradient, since the weights start at 0, and weight decay empties it), more \
                layers Theorem 1's.",
        runs: &[
            run("linear-l1", "--layers 1", "L = 1", &[P_TAKES_FORM, COROLLARYS_FORM]),
            run("linear-l2", "--layers 2", "L = 2", &[P_HAS_MORE, Q_TAKES_FORM]),
            run("linear-l4", "--layers 4", "L = 4", &[P_HAS_MORE, Q_TAKES_FORM]),
        ],
        figures: &[
            Parameters(
                "autoregressive-l1",
                "linear-l1",
                "Linear attention, L = 1, layers share P and Q",
            ),
            Parameters(
                "autoregressive-l2",
                "linear-l2",
                "Linear attention, L = 2, layers share P and Q",
            ),
            Parameters(
                "autoregressive-l4",
                "linear-l4",
                "Linear attention, L = 4, layers share P and Q",
            ),
        ],
        ..NOTHING
    },
);

const COROLLARYS_FORM: JudgedClaim = claim(
    "Q takes the corollary's form",
    "converges to the corollary's construction",
    |run: &JudgedRun| q_has_form(&run.seeds, 0, BlockForm::OneLayerTd),
);

/// App. figure "comparison with batch TD".
pub const COMPARISON: Entry = trained(
    "comparison",
    "App. figure: linear transformers against batch TD, L = 1 to 4, d = 8",
    Training {
        about: "The learned value function against batch TD's with a trained learning rate. The last run \
                has d = 8, n = 60 and 20 states.",
        runs: &[
            run("linear-l1", "--layers 1", "L = 1", NEAR_BATCH_TD),
            run("linear-l2", "--layers 2", "L = 2", LESS_NEAR),
            run("linear-l3", "", "L = 3", NEAR_BATCH_TD),
            run("linear-l4", "--layers 4", "L = 4", LESS_NEAR),
            run("linear-l3-d8", LARGER, "L = 3, d = 8, n = 60", NEAR_BATCH_TD),
        ],
        claims: &[ALIGNS, NOT_LINEAR],
        figures: &[
            Comparison("comparison", "Linear transformers against batch TD", EQUAL_COSINES),
            Explained("functions", "Which algorithm linear transformers are"),
        ],
        ..NOTHING
    },
);

const LARGER: &str = "--dim 8 --context 60 --states 20";
const NEAR_BATCH_TD: &[JudgedClaim] = &[ALPHA_CONVERGES, IS_TD0, IWS_NEAR_1, VD_VANISHES];
/// TD(0) is best, and explains less than nine tenths in too many seeds.
const LESS_NEAR: &[JudgedClaim] = &[ALPHA_CONVERGES, MOST_OF_IT, IWS_NEAR_1, VD_VANISHES];
const MOST_OF_IT: JudgedClaim = IS_TD0.refuted();
const ALPHA_CONVERGES: JudgedClaim = claim(
    "batch TD's learning rate converges quickly",
    "alpha quickly converges",
    alpha_converges_quickly,
);
const ALIGNS: JudgedClaim<[JudgedRun]> = claim(
    "P and Q align with C = I as L grows",
    "as L increases, more aligned with the construction with C = I",
    aligns_as_layers_grow,
)
.refuted();
/// The mask keeps the query out of the keys.
const NOT_LINEAR: JudgedClaim<[JudgedRun]> = claim(
    "v_TF is not linear in the query",
    "not linear even with a linear transformer",
    is_not_linear,
)
.refuted();
/// The caption for linear attention, whose value function is linear in the query.
const EQUAL_COSINES: &str = "mean over seeds; bands are standard errors; IWS and SS are one number";

/// App. "Sequential Transformers".
pub const SEQUENTIAL: Entry = trained(
    "sequential",
    "App. figures: sequential linear transformers, L = 2, 3, 4",
    Training {
        about: "As Figure 2, each layer with its own pair, which starts a factor L smaller as in the \
                authors' code. P and Q are drawn for L = 3.",
        runs: &[
            run(
                "sequential-l2",
                "--mode sequential --layers 2",
                "sequential, L = 2",
                &[MOST_OF_IT, GROWS, FALLS],
            )
            .titled("L = 2"),
            run(
                "sequential-l3",
                "--mode sequential --layers 3",
                "sequential, L = 3",
                &[IS_TD0, GROWS, FALLS, FIRST_P, FIRST_LAYER, FADES, P_FOLLOWS, P_LAST],
            )
            .titled("L = 3"),
            run(
                "sequential-l4",
                "--mode sequential --layers 4",
                "sequential, L = 4",
                SEQUENTIAL_CLAIMS,
            )
            .titled("L = 4"),
        ],
        figures: &[
            Comparison(
                "sequential",
                "Sequential linear transformers against batch TD",
                EQUAL_COSINES,
            ),
            Explained("functions", "Which algorithm sequential linear transformers are"),
            Parameters(
                "sequential-l3",
                "sequential-l3",
                "Linear attention, L = 3, each layer with its own P and Q",
            ),
        ],
        ..NOTHING
    },
);

/// As [`SEQUENTIAL`], from initial parameters as the paper has them.
pub const SEQUENTIAL_GAIN: Entry = trained(
    "sequential-gain",
    "App. figure: sequential linear transformers, L = 3, initial gain 0.1",
    Training {
        about: "The paper starts all layers with a gain of 0.1; the authors' code, and `sequential`, with 0.1 / L \
                in sequential transformers.",
        runs: &[run(
            "sequential-l3-gain",
            "--mode sequential --layers 3 --gain 0.1",
            "sequential, L = 3, gain 0.1",
            &[IS_TD0, GROWS, FALLS, FIRST_P, FIRST_LAYER, FADES],
        )],
        figures: &[
            Comparison(
                "sequential-gain",
                "A sequential linear transformer against batch TD, initial gain 0.1",
                EQUAL_COSINES,
            ),
            Parameters(
                "sequential-l3-gain",
                "sequential-l3-gain",
                "Linear attention, L = 3, each layer with its own P and Q, initial gain 0.1",
            ),
        ],
        ..NOTHING
    },
);

const SEQUENTIAL_CLAIMS: &[JudgedClaim] = &[IS_TD0, GROWS, FALLS];
const GROWS: JudgedClaim =
    claim("IWS (= SS) near 1", "grow drastically to near 1", iws_ends_near_one);
const FALLS: JudgedClaim =
    claim("VD falls", "drops considerably", |run: &JudgedRun| vd_falls_below(run, 0.2));
const FIRST_P: JudgedClaim = claim(
    "P of the first layer has Theorem 1's form",
    "a pattern very close to Theorem 1's",
    |run: &JudgedRun| p_has_form(&run.seeds, 0),
)
.refuted();
const FIRST_LAYER: JudgedClaim = claim(
    "Q of the first layer has Theorem 1's form",
    "a pattern very close to Theorem 1's",
    |run: &JudgedRun| q_has_form(&run.seeds, 0, BlockForm::Td),
)
.refuted();
const FADES: JudgedClaim = claim(
    "Q's right diagonal fades with depth",
    "the deeper the layer, the more it fades",
    |run: &JudgedRun| fades_with_depth(&run.seeds),
);
const P_FOLLOWS: JudgedClaim = claim(
    "P has Theorem 1's form in every layer",
    "the P matrices follow our configuration closely",
    |run: &JudgedRun| p_has_form_in_every_layer(&run.seeds),
)
.refuted();
const P_LAST: JudgedClaim = claim(
    "P follows it most closely in the last layer",
    "especially for the final layer",
    |run: &JudgedRun| p_is_closest_in_the_last_layer(&run.seeds),
);

/// App. "Nonlinear Attention".
pub const SOFTMAX: Entry = trained(
    "softmax",
    "App. figure: softmax transformers, general and representable values",
    Training {
        about: "Three layers of softmax attention that share P and Q, on Boyan's chain with random \
                rewards and with a representable value function.",
        runs: &[
            run(
                "softmax-general",
                "--attention softmax",
                "softmax",
                &[VD_SMALL, IWS_RISES, SS_DROPS, SOFTMAX_NOT_LINEAR],
            )
            .titled("general value function"),
            run(
                "softmax-representable",
                "--attention softmax --task boyan-representable",
                "softmax, representable",
                &[IWS_RISES, SS_RISES],
            )
            .titled("representable value function"),
        ],
        figures: &[Comparison(
            "softmax",
            "Softmax transformers against batch TD, L = 3",
            SHORT_CAPTION,
        )],
        ..NOTHING
    },
);

const VD_SMALL: JudgedClaim = claim("VD remains small", "remains small", vd_ends_small).refuted();
const IWS_RISES: JudgedClaim =
    claim("IWS increases", "increases", |run: &JudgedRun| rises(&run.seeds, &IWS));
const SS_RISES: JudgedClaim =
    claim("SS increases", "now increases", |run: &JudgedRun| rises(&run.seeds, &SS));
const SS_DROPS: JudgedClaim = claim("SS drops", "drops", |run: &JudgedRun| drops(&run.seeds, &SS));
const SOFTMAX_NOT_LINEAR: JudgedClaim =
    claim("v_TF is not linear in the query", "not linear", |run: &JudgedRun| {
        is_not_linear(std::slice::from_ref(run))
    });

/// App. "Experiments with CartPole Environment".
pub const CART_POLE: Entry = trained(
    "cart-pole",
    "App. figure: CartPole, n = 250, 10,000 MRPs",
    Training {
        about: "Three linear layers that share P and Q, n = 250, 10,000 CartPole MRPs with random physics, \
                policy, features and rewards.",
        runs: &[run(
            "cart-pole",
            "--task cartpole --context 250 --mrps 10000",
            "CartPole",
            &[STILL_P, STILL_Q, MOST_OF_IT],
        )],
        figures: &[Parameters(
            "cart-pole",
            "cart-pole",
            "TD(0) emerges from CartPole: linear attention, L = 3, n = 250",
        )],
        emergence: Some("cart-pole"),
        ..NOTHING
    },
);

/// As [`CART_POLE`], with features and rewards from U(-1, 1) to the letter.
pub const CART_POLE_UNIFORM: Entry = trained(
    "cart-pole-uniform",
    "App. figure: CartPole, with one tiling and uniform features",
    Training {
        about: "As `cart-pole`, with a single tiling of 256 tiles: each has a feature vector from U(-1, 1)^d and a \
                reward from U(-1, 1) of its own. There, states lie in a tile of each of four tilings, and features \
                are sums.",
        runs: &[run(
            "cart-pole-uniform",
            "--task cartpole-uniform --context 250 --mrps 10000",
            "CartPole, one tiling",
            &[STILL_P, STILL_Q, MOST_OF_IT],
        )],
        figures: &[Parameters(
            "cart-pole-uniform",
            "cart-pole-uniform",
            "CartPole with one tiling: linear attention, L = 3, n = 250",
        )],
        ..NOTHING
    },
);

const STILL_P: JudgedClaim = claim(
    "P takes Theorem 1's form",
    "still converge to Theorem 1's construction, up to some noise",
    |run: &JudgedRun| p_has_form(&run.seeds, 0),
)
.refuted();
const STILL_Q: JudgedClaim = claim(
    "Q takes Theorem 1's form",
    "still converge to Theorem 1's construction, up to some noise",
    |run: &JudgedRun| q_has_form(&run.seeds, 0, BlockForm::Td),
)
.refuted();

/// App. "Multi-task TD with Deep RNN": the learning curve.
pub const RNN_LEARNING: Entry = trained(
    "rnn-learning",
    "App. figure: MSVE of an RNN during multi-task TD",
    Training {
        about: "A tanh RNN of 3 layers with 4 hidden units each reads the prompt token by token, with a \
                flag that marks the query, and is trained by the same algorithm on 4000 Boyan chains.",
        runs: &[run("rnn", "--model rnn", "RNN", &[ERROR_FALLS])],
        figures: &[ValueError("rnn-learning", "rnn", "An RNN trained by multi-task TD")],
        ..NOTHING
    },
);

const ERROR_FALLS: JudgedClaim = claim(
    "the value error falls and stays low",
    "decreases for the first 1,000 MRPs and stays low",
    |run: &JudgedRun| error_falls(&run.seeds),
);

const NOTHING: Training =
    Training { about: "", runs: &[], claims: &[], figures: &[], emergence: None };

const fn trained(id: &'static str, figure: &'static str, training: Training) -> Entry {
    Entry { id, figure, figures: |_| Ok(Vec::new()), run: Run::Trained(training) }
}
