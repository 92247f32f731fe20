//! The experiments that train and judge the runs, as data: what is trained, what the paper claims of it, and
//! what is drawn.

use super::claims::{
    Form, JudgedClaim, claim, drops, ends_near_one, error_falls, fades_with_depth, has_form,
    is_balanced, is_not_linear, rises, vd_falls, vd_stays_small,
};
use super::experiment::Shown::{Comparison, Parameters, ValueError};
use super::experiment::{Entry, Run, Training, training_run as run};
use super::panels::SHORT_CAPTION;
use crate::train::log::{IWS, SS};

/// Section 4, Figure 2.
pub const FIGURE_2: Entry = trained(
    "figure-2",
    "Figure 2: P and Q learned with L = 3, and their learning progress",
    Training {
        about: "Section 4. Multi-task TD on 4000 Boyan chains of 10 states, d = 4, n = 30, 30 seeds; no \
                entry of P or Q is fixed. Theorem 1's form appears, up to a scale and a common sign.",
        runs: &[run("linear-l3", "", "L = 3", &[TAKE_FORM, BALANCED, IWS_NEAR_1, VD_VANISHES])],
        figures: &[Parameters(
            "figure-2",
            "linear-l3",
            "TD(0) emerges: linear attention, L = 3, layers share P and Q",
        )],
        emergence: Some("linear-l3"),
        ..NOTHING
    },
);

const TAKE_FORM: JudgedClaim = claim(
    "P, Q take Theorem 1's form",
    "P[-1,-1] grows, traces near -d and d up to a scale, others near 0",
    |runs| has_form(runs, Form::Theorem1),
);
const BALANCED: JudgedClaim =
    claim("Q's two diagonals are C and -C", "traces -d and d, up to a common scale", is_balanced);
const IWS_NEAR_1: JudgedClaim = claim("IWS near 1", "near one", |runs| ends_near_one(runs, &IWS));
const SS_NEAR_1: JudgedClaim = claim("SS near 1", "near one", |runs| ends_near_one(runs, &SS));
const VD_VANISHES: JudgedClaim = claim("VD vanishes", "approaches zero", vd_falls);

/// App. "Autoregressive Linear Transformers".
pub const AUTOREGRESSIVE: Entry = trained(
    "autoregressive",
    "App. figure: autoregressive linear transformers, L = 1, 2, 4",
    Training {
        about: "As Figure 2 with other depths. One layer learns the corollary's form (Q's right diagonal \
                gets no gradient, since the weights start at 0, and weight decay empties it), more \
                layers Theorem 1's.",
        runs: &[
            run("linear-l1", "--layers 1", "L = 1", &[COROLLARYS_FORM]),
            run("linear-l2", "--layers 2", "L = 2", &[THEOREM_1S_FORM]),
            run("linear-l4", "--layers 4", "L = 4", &[THEOREM_1S_FORM]),
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

const COROLLARYS_FORM: JudgedClaim =
    claim("the corollary's form", "converges to the corollary's construction", |runs| {
        has_form(runs, Form::OneLayer)
    });
const THEOREM_1S_FORM: JudgedClaim =
    claim("Theorem 1's form", "converges to Theorem 1's construction", |runs| {
        has_form(runs, Form::Theorem1)
    });

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
        claims: &[NOT_LINEAR],
        figures: &[Comparison("comparison", "Linear transformers against batch TD", EQUAL_COSINES)],
        ..NOTHING
    },
);

const LARGER: &str = "--dim 8 --context 60 --states 20";
const NEAR_BATCH_TD: &[JudgedClaim] = &[IWS_NEAR_1, SS_NEAR_1, VD_VANISHES];
/// The mask keeps the query out of the keys.
const NOT_LINEAR: JudgedClaim = claim(
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
                &[GROWS, FALLS],
            )
            .titled("L = 2"),
            run(
                "sequential-l3",
                "--mode sequential --layers 3",
                "sequential, L = 3",
                &[GROWS, FALLS, FIRST_LAYER, FADES],
            )
            .titled("L = 3"),
            run(
                "sequential-l4",
                "--mode sequential --layers 4",
                "sequential, L = 4",
                &[GROWS, FALLS],
            )
            .titled("L = 4"),
        ],
        figures: &[
            Comparison(
                "sequential",
                "Sequential linear transformers against batch TD",
                EQUAL_COSINES,
            ),
            Parameters(
                "sequential-l3",
                "sequential-l3",
                "Linear attention, L = 3, each layer with its own P and Q",
            ),
        ],
        ..NOTHING
    },
);

const GROWS: JudgedClaim =
    claim("IWS near 1", "grow drastically to near 1", |runs| ends_near_one(runs, &IWS));
const FALLS: JudgedClaim = claim("VD falls", "drops considerably", vd_falls);
const FIRST_LAYER: JudgedClaim =
    claim("first layer", "a pattern very close to Theorem 1's", |runs| {
        has_form(runs, Form::Theorem1)
    });
const FADES: JudgedClaim = claim(
    "Q's right diagonal fades with depth",
    "the deeper the layer, the more it fades",
    fades_with_depth,
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
                &[VD_SMALL, IWS_RISES, SS_DROPS],
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
const IWS_RISES: JudgedClaim = claim("IWS increases", "increases", |runs| rises(runs, &IWS));
const SS_RISES: JudgedClaim = claim("SS increases", "now increases", |runs| rises(runs, &SS));
const SS_DROPS: JudgedClaim = claim("SS drops", "drops", |runs| drops(runs, &SS));

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
            &[STILL_TAKE_FORM],
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

const STILL_TAKE_FORM: JudgedClaim = claim(
    "P, Q take Theorem 1's form",
    "still converge to Theorem 1's construction, up to some noise",
    |runs| has_form(runs, Form::Theorem1),
);

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
    error_falls,
);

const NOTHING: Training =
    Training { about: "", runs: &[], claims: &[], figures: &[], emergence: None };

const fn trained(id: &'static str, figure: &'static str, training: Training) -> Entry {
    Entry { id, figure, figures: |_| Ok(Vec::new()), run: Run::Trained(training) }
}
