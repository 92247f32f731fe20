//! App. "Numerical Verification of Proofs": compares the four constructions with their algorithms.

use super::added::added;
use super::experiment::{Experiment, Measured, Runner};
use super::measurements::MeasurementTable;
use super::plots::{self, FigureSpec, PanelSpec, means};
use super::statistics::nan_or_larger;
use crate::error::{Error, WithContext};
use crate::options;
use crate::run::report::bound;
use crate::run::{Claim, Report, RunFiles, Session, Source, Verdict};
use compute::capacity::{CONTEXT, FEW};
use compute::words::Word as _;
use figures::Axis;
use judge::construction::Construction;
use judge::verify::{LAYERS, LayerValues, Successors, VerifySettings, values};
use serde::Serialize;
use serde_json::{Map, json};

/// The bound of a relative error: the paper's "in the order of 10^-10" after 40 layers.
const BOUND: f64 = 1e-10;

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
    #[arg(long, default_value = "100", value_parser = options::integer(1..=CONTEXT))]
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

/// The comparisons: the construction, its name in the records, and in the report.
pub const CONSTRUCTIONS: [(Construction, &str, &str); Construction::WORDS.len()] = [
    (Construction::Td0, "td0", "TD(0)"),
    (Construction::TdLambda, "td_lambda", "TD(λ)"),
    (Construction::ResidualGradient, "residual_gradient", "residual gradient"),
    (Construction::AverageReward, "average_reward", "average-reward TD"),
    (Construction::PreconditionedTd, "preconditioned_td", "preconditioned TD"),
];

const FIGURE: FigureSpec = FigureSpec::Plots(
    "verify",
    "Transformer layers are TD iterations",
    "mean over seeds with standard error, double precision",
    &[PanelSpec {
        title: "",
        x: || Axis::linear("layer"),
        y: || Axis::log("|φ_n · w_l + y_l|, relative if |φ_n| |w_l| > 1"),
        curves: &[
            means(CONSTRUCTIONS[0].2, CONSTRUCTIONS[0].1, "error"),
            means(CONSTRUCTIONS[1].2, CONSTRUCTIONS[1].1, "error"),
            means(CONSTRUCTIONS[2].2, CONSTRUCTIONS[2].1, "error"),
            means(CONSTRUCTIONS[3].2, CONSTRUCTIONS[3].1, "error"),
        ],
    }],
    1,
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
            let place = || format!("verify, seed {seed}");
            let mut all = values(&settings, &pairs, seed).context(place())?;
            for row in added().verify {
                let values = (row.values)(&settings, seed);
                all.push(values.context(format!("{}, {}", row.name, place()))?);
            }
            Ok(all)
        })?;
        let paper = Source::paper("App. H", "the difference is still in the order of 10^-10");
        let rows = CONSTRUCTIONS.iter().map(|(construction, name, label)| match construction {
            Construction::PreconditionedTd => (*name, *label, Source::OWN),
            _ => (*name, *label, paper),
        });
        let rows = rows.chain(added().verify.iter().map(|row| (row.name, row.label, Source::OWN)));
        let (mut long, mut claims) = (MeasurementTable::default(), Vec::new());
        let mut constructions = Map::new();
        for (which, (name, label, source)) in rows.enumerate() {
            let of_seed = || found.iter().map(|of_seed| &of_seed[which]);
            for (seed, values) in seeds.iter().zip(of_seed()) {
                for (layer, value) in values.iter().enumerate() {
                    let [error, streaming] = error(std::iter::once(value));
                    let numbers =
                        [("value", value.algorithm), ("error", error), ("streaming", streaming)];
                    for (metric, number) in numbers {
                        long.put(name, *seed, metric, layer as f64 + 1.0, number);
                    }
                }
            }
            let [literal, streaming] = error(of_seed().flatten());
            let found = json!({
                "max_abs_error": literal,
                "streaming_max_abs_error": streaming,
                "max_abs_value": of_seed().flatten().map(|v| v.algorithm.abs()).fold(0.0, nan_or_larger),
            });
            constructions.insert(name.into(), found);
            claims.push(Claim::new(
                format!("{label} in {} layers", self.layers),
                source,
                format!(
                    "relative error at most {} (streaming {}); needs <= {BOUND:.0e}",
                    bound(literal),
                    bound(streaming)
                ),
                within_bound(literal, streaming),
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

pub fn within_bound(literal: f64, streaming: f64) -> Verdict {
    Verdict::of(literal <= BOUND && streaming <= BOUND)
}

pub fn error<'a>(values: impl Iterator<Item = &'a LayerValues> + Clone) -> [f64; 2] {
    let of = |y: fn(&LayerValues) -> f64| {
        values.clone().map(|v| (v.algorithm - y(v)).abs() / v.scale).fold(0.0, nan_or_larger)
    };
    [of(|v| v.literal), of(|v| v.streaming)]
}
