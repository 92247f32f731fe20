//! App. "Numerical Verification of Proofs": compares the paper's four constructions with their algorithms, and what goes
//! beyond the paper.

use super::added::added;
use super::experiment::{Experiment, Measured, Runner};
use super::measurements::MeasurementTable;
use super::plots::{self, CurveSpec, FigureSpec, PanelSpec, means};
use super::statistics::nan_or_larger;
use crate::error::{Error, WithContext};
use crate::options;
use crate::run::report::bound;
use crate::run::{Claim, Report, RunFiles, Session, Source, Verdict};
use compute::capacity::{FEW, PROMPT};
use compute::words::Word as _;
use figures::Axis;
use judge::construction::Construction;
use judge::verify::encodings::{self, Encoding};
use judge::verify::softmax_td::Problem;
use judge::verify::{LAYERS, LayerValues, Successors, VerifySettings, values};
use serde::Serialize;
use serde_json::{Map, json};

/// The bound of a relative error: the paper's "in the order of 10^-10" after 40 layers, and a stricter one of what goes beyond.
pub const BOUND: f64 = 1e-10;
const OWN_BOUND: f64 = 1e-13;

/// Verify the proofs numerically: a transformer's layers against TD's iterations
///
/// App. "Numerical Verification of Proofs". For each seed a random prompt and random preconditioners C_l are drawn; y_l is read
/// from the literal transformer, unrolled layer by layer, and w_l from the classical algorithm, iteration by iteration, all in
/// f64. The error is |<phi_n, w_l> + y_l|, for TD(0) (Theorem 1), TD(lambda), the residual gradient, and average-reward TD, and
/// the same for the streaming form, which keeps a constant-size statistic instead of the context. If |phi_n| |w_l| is above 1,
/// the error is divided by it, since rounding errors grow with the rounded numbers.
///
/// The prompt: features and rewards ~ N(0, 1). The preconditioners: entries ~ N(0, 1), divided by the matrix's Frobenius norm
/// and multiplied by --c-norm, so that |C_l| = c-norm for every layer and the iterates stay bounded (`max_abs_value` in the
/// results is their largest absolute value). The authors' code uses C_l = I, but N(0, 1) entries for average reward, which let
/// the iterates, and the absolute error, grow to 1e12.
///
/// Beyond the paper: preconditioned TD, whose C_l = alpha (I - beta Sigma)^l the layers compute from the context (d up to 8);
/// emphatic TD(0), GTD2, TDC and actor-critic, which Theorem 1's weights run on other tokens (SARSA is TD(0) with features of a
/// state and an action); and weighted softmax TD in two softmax heads. Their sizes, up to --context-length, and their constants are drawn for each seed.
#[derive(Clone, Debug, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Verify {
    /// Seeds, each with a new prompt and new C_l: SEED, SEED + 1, ... (the paper: 30)
    #[arg(long, default_value = "30", value_parser = options::integer(1..=100_000))]
    pub seeds: usize,
    /// Layers of the transformer, iterations of the algorithm (the paper: 40)
    #[arg(long, default_value = "40", value_parser = options::integer(1..=LAYERS))]
    pub layers: usize,
    /// Feature dimension d (the authors' code: 3)
    #[arg(long, default_value = "3", value_parser = options::integer(1..=FEW))]
    pub dim: usize,
    /// Context length n (the authors' code: 100)
    #[arg(long, default_value = "100", value_parser = options::integer(1..=PROMPT))]
    pub context_length: usize,
    /// Discount factor gamma; average reward has none (the authors' code: 0.9)
    #[arg(long, default_value = "0.9", value_parser = options::real(0.0..1.0))]
    pub gamma: f64,
    /// Trace decay of TD(lambda), the paper's lambda (the authors' code: 0.5)
    #[arg(long, default_value = "0.5", value_parser = options::real(0.0..=1.0))]
    pub trace_decay: f64,
    /// Frobenius norm of each preconditioner C_l (with 0, all values are 0, and nothing is tested)
    #[arg(long, default_value = "0.3", value_parser = options::real(0.01..=10.0))]
    pub c_norm: f64,
    /// Next features phi_{j+1}: drawn independently, as in the authors' code, or taken from the
    /// next column
    #[arg(long, default_value = "independent", value_parser = options::word::<Successors>())]
    pub successors: Successors,
}

const CONSTRUCTIONS: [(Construction, &str, &str); Construction::WORDS.len()] = [
    (Construction::Td0, "td0", "TD(0)"),
    (Construction::TdLambda, "td_lambda", "TD(λ)"),
    (Construction::ResidualGradient, "residual_gradient", "residual gradient"),
    (Construction::AverageReward, "average_reward", "average-reward TD"),
    (Construction::PreconditionedTd, "preconditioned_td", "preconditioned TD"),
];
const ENCODINGS: [(Encoding, &str, &str); 4] = [
    (Encoding::EmphaticTd, "emphatic_td", "emphatic TD(0)"),
    (Encoding::Gtd2, "gtd2", "GTD2"),
    (Encoding::Tdc, "tdc", "TDC"),
    (Encoding::ActorCritic, "actor_critic", "actor-critic"),
];
/// The first of the rows, which the paper proves.
const PAPERS: usize = 4;
const SOFTMAX: (&str, &str) = ("softmax_td", "weighted softmax TD");

/// Returns the name and the label of every row: the paper's, then this program's, then those that were added to it.
pub(crate) fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    let constructions = CONSTRUCTIONS.iter().map(|(_, name, label)| (*name, *label));
    let encodings = ENCODINGS.iter().map(|(_, name, label)| (*name, *label));
    let added = added().verify.iter().map(|row| (row.name, row.label));
    constructions.chain(encodings).chain([SOFTMAX]).chain(added)
}

const fn panel(title: &'static str, curves: &'static [CurveSpec]) -> PanelSpec {
    PanelSpec {
        title,
        x: || Axis::linear("layer"),
        y: || Axis::log("|φ_n · w_l + y_l|, relative if |φ_n| |w_l| > 1"),
        curves,
    }
}

const FIGURE: FigureSpec = FigureSpec::Plots(
    "verify",
    "Transformer layers are TD iterations",
    "mean over seeds with standard error, double precision",
    &[
        panel(
            "The paper's",
            &[
                means(CONSTRUCTIONS[0].2, CONSTRUCTIONS[0].1, "error"),
                means(CONSTRUCTIONS[1].2, CONSTRUCTIONS[1].1, "error"),
                means(CONSTRUCTIONS[2].2, CONSTRUCTIONS[2].1, "error"),
                means(CONSTRUCTIONS[3].2, CONSTRUCTIONS[3].1, "error"),
            ],
        ),
        panel(
            "Beyond the paper",
            &[
                means(CONSTRUCTIONS[4].2, CONSTRUCTIONS[4].1, "error"),
                means(ENCODINGS[0].2, ENCODINGS[0].1, "error"),
                means(ENCODINGS[1].2, ENCODINGS[1].1, "error"),
                means(ENCODINGS[2].2, ENCODINGS[2].1, "error"),
                means(ENCODINGS[3].2, ENCODINGS[3].1, "error"),
                means(SOFTMAX.1, SOFTMAX.0, "error"),
            ],
        ),
    ],
    2,
);

pub const ENTRY: Experiment = Experiment {
    id: "verify",
    figure: "App. Numerical Verification of Proofs",
    figures: |records| plots::figures(&[FIGURE], &[], records),
    run: Runner::Fixed(|session| options::parsed::<Verify>("").run(session)),
};

impl Verify {
    pub fn run(&self, session: &Session) -> Result<Report, Error> {
        ENTRY.record(self, session, |records| self.measure(session, records))
    }

    fn measure(&self, session: &Session, records: &mut RunFiles) -> Result<Measured, Error> {
        let seeds = session.seeds(self.seeds);
        let Verify { layers, dim, gamma, trace_decay, c_norm, successors, .. } = *self;
        let context = self.context_length;
        let settings =
            VerifySettings { layers, dim, context, gamma, trace_decay, c_norm, successors };
        let pairs = CONSTRUCTIONS.map(|(construction, ..)| (construction, construction));
        let found = session.map("verify", &seeds, |&seed| {
            let all = || {
                let mut found = values(&settings, &pairs, seed)?;
                for (encoding, ..) in ENCODINGS {
                    found.push(encodings::values(&settings, encoding, seed)?);
                }
                found.push(Problem::random(&settings, seed).values(settings.layers));
                for row in added().verify {
                    found.push((row.values)(&settings, seed)?);
                }
                Ok(found)
            };
            all().context(format!("verify, seed {seed}"))
        })?;
        let (mut long, mut claims) = (MeasurementTable::default(), Vec::new());
        let mut constructions = Map::new();
        for (which, (name, label)) in rows().enumerate() {
            let of_seed = || found.iter().map(|of_seed| &of_seed[which]);
            for (seed, values) in seeds.iter().zip(of_seed()) {
                for (layer, value) in values.iter().enumerate() {
                    let [error, streaming] = error(std::iter::once(value));
                    let mut put = |metric, x| long.put(name, *seed, metric, layer as f64 + 1.0, x);
                    put("value", value.algorithm);
                    put("error", error);
                    if name != SOFTMAX.0 {
                        put("streaming", streaming);
                    }
                }
            }
            let [literal, streaming] = error(of_seed().flatten());
            let streams = name != SOFTMAX.0;
            let found = json!({
                "max_abs_error": literal,
                "streaming_max_abs_error": streams.then_some(streaming),
                "max_abs_value": of_seed().flatten().map(|v| v.algorithm.abs()).fold(0.0, nan_or_larger),
            });
            constructions.insert(name.into(), found);
            let (source, needed) = if which < PAPERS {
                (Source::paper("App. H", "the difference is still in the order of 10^-10"), BOUND)
            } else {
                (Source::OWN, OWN_BOUND)
            };
            let streamed = format!(" (streaming {})", bound(streaming));
            let streamed = if streams { streamed } else { String::new() };
            claims.push(Claim::new(
                format!("{label} in {} layers", self.layers),
                source,
                format!(
                    "relative error at most {}{streamed}; needs <= {needed:.0e}",
                    bound(literal)
                ),
                within_bound([literal, streaming], needed),
            ));
        }
        long.write(records)?;
        let [literal, streaming] = error(found.iter().flatten().flatten());
        let results = json!({
            "constructions": constructions,
            "max_abs_error": literal,
            "streaming_max_abs_error": streaming,
        });
        Ok(Measured { results, text: String::new(), claims })
    }
}

pub fn within_bound([literal, streaming]: [f64; 2], bound: f64) -> Verdict {
    Verdict::of(literal <= bound && streaming <= bound)
}

/// Returns the largest errors of the literal and of the streaming values.
pub fn error<'a>(values: impl Iterator<Item = &'a LayerValues> + Clone) -> [f64; 2] {
    let of = |y: fn(&LayerValues) -> Option<f64>| {
        let error = |v: &LayerValues| Some((v.algorithm - y(v)?).abs() / v.scale);
        values.clone().filter_map(error).fold(0.0, nan_or_larger)
    };
    [of(|v| Some(v.literal)), of(|v| v.streaming)]
}
