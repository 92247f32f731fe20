//! The experiments that train and judge the runs, as data: what is trained, what the paper claims of it, and
//! what is drawn.

use super::claims::{
    JudgedClaim, aligns_as_layers_grow, alpha_converges_quickly, claim, drops, error_falls,
    fades_with_depth, function_is_td0, is_balanced, is_not_linear, iws_ends_near_one, p_has_form,
    p_has_form_in_every_layer, p_is_closest_in_the_last_layer, q_has_form, rises, vd_falls_below,
    vd_stays_small,
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
const VD_VANISHES: JudgedClaim =
    claim("VD vanishes", "approaches zero", |run: &JudgedRun| vd_falls_below(run, 0.1));

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
            run("linear-l2", "--layers 2", "L = 2", NEAR_BATCH_TD),
            run("linear-l3", "", "L = 3", NEAR_BATCH_TD),
            run("linear-l4", "--layers 4", "L = 4", NEAR_BATCH_TD),
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
                SEQUENTIAL_CLAIMS,
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

const VD_SMALL: JudgedClaim = claim("VD remains small", "remains small", vd_stays_small);
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
            &[STILL_P, STILL_Q, IS_TD0],
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
