//! App. "Numerical Verification of Proofs": the four constructions against their algorithms.

use super::experiment::{Entry, Experiment, Measured, Run, run};
use super::panels;
use super::statistics::{mean_and_stderr, nan_or_larger};
use crate::construction::Construction;
use crate::dimension::{self, for_dimension};
use crate::error::{Doing, Error};
use crate::options;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict};
use crate::run::session::Session;
use figures::{Axis, Curves, NamedFigures};
use ictd_core::attention::{Attention, AverageReward, Mask, Td0, TdLambda};
use ictd_core::constructions;
use ictd_core::context::{AverageRewardContext, Context, Growing};
use ictd_core::layer::Layer;
use ictd_core::linalg;
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::td;
use ictd_core::transformer::Transformer;
use ictd_core::transition::{Transition, query_token};
use nalgebra::{SMatrix, SVector};
use serde::{Deserialize, Serialize, Serializer};

/// The most layers, and the longest context, that fit the fixed capacities.
const LAYERS: usize = 128;
const CONTEXT: usize = 1024;

/// What must hold: the paper's "in the order of 10^-10" after 40 layers.
const BOUND: f64 = 1e-10;

/// Verify the proofs numerically: a transformer's layers against TD's iterations
///
/// App. "Numerical Verification of Proofs". For each seed a random prompt and random preconditioners
/// C_l are drawn; y_l is read from the literal transformer, unrolled layer by layer, and w_l from the
/// classical algorithm, iteration by iteration, all in f64. Shown is |<phi_n, w_l> + y_l| for TD(0)
/// (Theorem 1), TD(lambda), the residual gradient, and average-reward TD, and the same for the
/// streaming form, which keeps a constant-size statistic instead of the context.
///
/// The prompt: features and rewards ~ N(0, 1). The preconditioners: entries ~ N(0, 1), divided by the
/// matrix's Frobenius norm and multiplied by --c-norm, so that |C_l| = c-norm for every layer and the
/// iterates stay bounded (`max_abs_value` in the results says how far they went). The
/// authors' code uses C_l = I, but N(0, 1) entries for average reward, with which the iterates grow to
/// 1e12 and the absolute error with them.
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
    #[arg(long, default_value = "3", value_parser = options::one_of(dimension::FEW))]
    pub dim: usize,
    /// Context length n (the authors' code: 100)
    #[arg(long, default_value = "100", value_parser = options::integer(1..=CONTEXT))]
    pub context: usize,
    /// Discount factor gamma; average reward has none (the authors' code: 0.9)
    #[arg(long, default_value = "0.9", value_parser = options::real(0.0..1.0))]
    pub gamma: f64,
    /// Trace decay lambda of TD(lambda) (the authors' code: 0.5)
    #[arg(long, default_value = "0.5", value_parser = options::real(0.0..=1.0))]
    pub lambda: f64,
    /// Frobenius norm of each preconditioner C_l
    #[arg(long, default_value = "0.3", value_parser = options::real(0.0..=10.0))]
    pub c_norm: f64,
    /// Next features phi_{j+1}: draws of their own, as in the authors' code, or the next column's
    #[arg(long, value_enum, default_value = "independent")]
    pub successors: Successors,
}

/// Where a transition's next features come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Successors {
    /// Their own draws.
    Independent,
    /// The next column's features: a trajectory, as in Theorem 1's Z_0.
    Trajectory,
}

/// The constructions: name in the records, name in the figure.
const CONSTRUCTIONS: [(Construction, &str, &str); 4] = [
    (Construction::Td0, "td0", "TD(0)"),
    (Construction::TdLambda, "td_lambda", "TD(λ)"),
    (Construction::ResidualGradient, "residual_gradient", "residual gradient"),
    (Construction::AverageReward, "average_reward", "average-reward TD"),
];

/// One row of `errors.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorRow {
    /// Which construction.
    pub construction: String,
    /// Which seed.
    pub seed: u64,
    /// l, from 1.
    pub layer: usize,
    /// <phi_n, w_l>.
    pub value: f64,
    /// |<phi_n, w_l> + y_l|, y_l from the literal transformer.
    pub error: f64,
    /// The same with y_l from the streaming form.
    pub streaming_error: f64,
}

/// One row of `mean_errors.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MeanRow {
    /// Which construction.
    pub construction: String,
    /// l, from 1.
    pub layer: usize,
    /// Mean over seeds.
    pub mean: f64,
    /// Its standard error.
    pub stderr: f64,
}

/// What is found of a construction.
#[derive(Serialize)]
struct OfConstruction {
    max_abs_error: f64,
    mean_error_per_layer: Vec<f64>,
    stderr_per_layer: Vec<f64>,
    streaming_max_abs_error: f64,
    max_abs_value: f64,
}

/// What is found.
#[derive(Serialize)]
pub struct Found {
    #[serde(serialize_with = "by_name")]
    constructions: Vec<OfConstruction>,
    max_abs_error: f64,
    streaming_max_abs_error: f64,
}

fn by_name<S: Serializer>(of: &[OfConstruction], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(CONSTRUCTIONS.iter().map(|c| c.1).zip(of))
}

impl Experiment for Verify {
    const ENTRY: Entry = Entry {
        id: "verify",
        figure: "App. Numerical Verification of Proofs",
        figures,
        run: Run::Fixed(|session| run(&options::parsed::<Verify>(""), session)),
    };

    type Found = Found;

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Found> {
        let seeds: Vec<u64> =
            (0..self.seeds as u64).map(|i| session.seed.wrapping_add(i)).collect();
        let per_seed = session.map("verify", &seeds, |&seed| {
            let rows = for_dimension!(few self.dim, one_seed(self, seed));
            rows.unwrap_or(Ok(Vec::new())).doing(format!("verify, seed {seed}"))
        })?;
        let rows: Vec<ErrorRow> = per_seed.into_iter().flatten().collect();
        records.put_csv("errors.csv", &rows)?;

        let (mut claims, mut means, mut constructions) = (Vec::new(), Vec::new(), Vec::new());
        for (_, name, label) in CONSTRUCTIONS {
            let of_this = || rows.iter().filter(|r| r.construction == name);
            let at = |layer| of_this().filter(move |r| r.layer == layer);
            let summary: Vec<MeanRow> = (1..=self.layers)
                .map(|layer| {
                    let (mean, stderr) = mean_and_stderr(at(layer).map(|r| r.error));
                    MeanRow { construction: name.into(), layer, mean, stderr }
                })
                .collect();
            let max_error = largest(of_this().map(|r| r.error));
            let max_streaming = largest(of_this().map(|r| r.streaming_error));
            constructions.push(OfConstruction {
                max_abs_error: max_error,
                mean_error_per_layer: summary.iter().map(|r| r.mean).collect(),
                stderr_per_layer: summary.iter().map(|r| r.stderr).collect(),
                streaming_max_abs_error: max_streaming,
                max_abs_value: largest(of_this().map(|r| r.value.abs())),
            });
            claims.push(Claim::new(
                format!("{label} in {} layers", self.layers),
                "|error| in the order of 1e-10",
                format!(
                    "at most {max_error:.1e} (streaming {max_streaming:.1e}); needs <= {BOUND:.0e}"
                ),
                within_bound(max_error, max_streaming),
            ));
            means.extend(summary);
        }
        records.put_csv("mean_errors.csv", &means)?;
        let found = Found {
            max_abs_error: largest(constructions.iter().map(|c| c.max_abs_error)),
            streaming_max_abs_error: largest(
                constructions.iter().map(|c| c.streaming_max_abs_error),
            ),
            constructions,
        };
        Ok((found, claims))
    }
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let rows: Vec<MeanRow> = records.csv("mean_errors.csv")?;
    let curves = CONSTRUCTIONS.map(|(_, name, label)| {
        let of_this = rows.iter().filter(|r| r.construction == name);
        panels::curve(label, of_this.map(|r| (r.layer as f64, r.mean, r.stderr)))
    });
    let panel = Curves {
        x: Axis::linear("layer"),
        y: Axis::log("|φ_n · w_l + y_l|"),
        curves: curves.into(),
        ..Default::default()
    };
    let title = "Transformer layers are TD iterations";
    let subtitle = "mean over seeds with standard error, double precision";
    Ok(vec![("verify".into(), panels::single(title, subtitle, panel))])
}

/// Both errors are within the bound; NaN is not.
pub fn within_bound(error: f64, streaming: f64) -> Verdict {
    Verdict::of(error <= BOUND && streaming <= BOUND)
}

/// The largest number; NaN if there is one, so that no comparison hides it.
pub fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, nan_or_larger)
}

/// All layers of all constructions for one prompt.
fn one_seed<const D: usize, const K: usize, const K2: usize>(
    options: &Verify,
    seed: u64,
) -> Result<Vec<ErrorRow>, ictd_core::Error> {
    let mut rng = Rng::new(seed);
    let problem = Problem::<D>::random(options, &mut rng);
    let Problem { transitions, query, gamma, lambda } = &problem;
    let mut rows = Vec::new();
    for (construction, name, _) in CONSTRUCTIONS {
        let c: Vec<_> =
            (0..options.layers).map(|_| preconditioner(options.c_norm, &mut rng)).collect();
        let iterate = |update: &dyn Fn(&SVector<f64, D>, &C<D>) -> Step<D>| iterates(&c, update);
        let (weights, [literal, streaming]) = match construction {
            Construction::Td0 => (
                iterate(&|w, c| td::td0::update(w, c, transitions, *gamma))?,
                problem.outputs::<K, _>(Td0, &c, constructions::td0)?,
            ),
            Construction::TdLambda => (
                iterate(&|w, c| td::td_lambda::update(w, c, transitions, *gamma, *lambda))?,
                problem.outputs::<K, _>(TdLambda::new(*lambda)?, &c, constructions::td_lambda)?,
            ),
            Construction::ResidualGradient => (
                iterate(&|w, c| td::residual_gradient::update(w, c, transitions, *gamma))?,
                problem.outputs::<K, _>(Td0, &c, constructions::residual_gradient)?,
            ),
            Construction::AverageReward => (
                iterate(&|w, c| td::average_reward::update(w, c, transitions))?,
                problem.two_head_outputs::<K2>(&c)?,
            ),
        };
        for (l, w) in weights.iter().enumerate() {
            let value = linalg::dot(query, w);
            let [error, streaming_error] = [literal[l], streaming[l]].map(|y| (value + y).abs());
            let construction = name.into();
            rows.push(ErrorRow { construction, seed, layer: l + 1, value, error, streaming_error });
        }
    }
    Ok(rows)
}

type C<const D: usize> = SMatrix<f64, D, D>;
type Step<const D: usize> = Result<SVector<f64, D>, ictd_core::Error>;

/// w_1, w_2, ... from w_0 = 0.
///
/// # Errors
/// Those of the update.
pub fn iterates<const D: usize>(
    c: &[C<D>],
    update: &dyn Fn(&SVector<f64, D>, &C<D>) -> Step<D>,
) -> Result<Vec<SVector<f64, D>>, ictd_core::Error> {
    let mut w = linalg::zeros();
    c.iter()
        .map(|c| {
            w = update(&w, c)?;
            Ok(w)
        })
        .collect()
}

/// A random matrix of the given Frobenius norm.
pub fn preconditioner<const D: usize>(norm: f64, rng: &mut Rng) -> C<D> {
    let c = C::<D>::from_fn(|_, _| rng.normal());
    let squares: f64 = c.iter().fold(0.0, |sum, x| sum + x * x);
    // Drawn 0 with probability 0; the matrix then stays 0.
    linalg::scale(if squares > 0.0 { norm / squares.sqrt() } else { 0.0 }, &c)
}

/// A prompt.
pub struct Problem<const D: usize> {
    /// The context.
    pub transitions: Vec<Transition<f64, D>>,
    /// phi_n, whose value is asked for.
    pub query: SVector<f64, D>,
    gamma: f64,
    lambda: f64,
}

/// y_1, ..., y_L, literal and streaming.
type Outputs = [Vec<f64>; 2];

impl<const D: usize> Problem<D> {
    /// Features and rewards from a normal distribution.
    pub fn random(options: &Verify, rng: &mut Rng) -> Self {
        let features = |rng: &mut Rng| SVector::from_fn(|_, _| rng.normal());
        let mut phi = features(rng);
        let mut transitions = Vec::new();
        for _ in 0..options.context {
            let reward = rng.normal();
            let next_column = features(rng);
            let phi_next = match options.successors {
                Successors::Independent => features(rng),
                Successors::Trajectory => next_column,
            };
            transitions.push(Transition { phi, reward, phi_next });
            phi = next_column;
        }
        Problem { transitions, query: phi, gamma: options.gamma, lambda: options.lambda }
    }

    /// y_1, ..., y_L of the one-head transformer with a construction's parameters.
    ///
    /// # Errors
    /// More layers or transitions than there is room for; a value that is not finite.
    pub fn outputs<const K: usize, M: Mask<f64> + Attention<f64, K, Layer = Layer<f64, K>>>(
        &self,
        mask: M,
        c: &[C<D>],
        construction: fn(&C<D>) -> Layer<f64, K>,
    ) -> Result<Outputs, ictd_core::Error> {
        let layers: Vec<_> = c.iter().map(construction).collect();
        let transformer = Transformer::<_, LAYERS>::sequential(&layers)?;
        let mut prompt = Prompt::<f64, K, CONTEXT>::from_columns(
            &self.columns(self.gamma),
            query_token(&self.query),
        )?;
        let mut literal = Vec::new();
        transformer.forward(&mut prompt, &mask, |z| literal.push(z.query()[K - 1]))?;

        let mut context = Context::<D, _, _, f64>::with(mask, Growing);
        for transition in &self.transitions {
            context.observe_transition(transition)?;
        }
        let mut streaming = Vec::new();
        let statistic = context.statistic(self.gamma, 0)?;
        transformer.values_by_layer(&statistic, &query_token(&self.query), |v| streaming.push(-v));
        Ok([literal, streaming])
    }

    /// y_1, ..., y_L of the two-head transformer of average-reward TD.
    fn two_head_outputs<const K: usize>(&self, c: &[C<D>]) -> Result<Outputs, ictd_core::Error> {
        let layers: Vec<_> = c.iter().map(constructions::average_reward).collect();
        let transformer = Transformer::<_, LAYERS>::sequential(&layers)?;
        let mut prompt =
            Prompt::<f64, K, CONTEXT>::from_columns(&self.columns(1.0), query_token(&self.query))?;
        let mut literal = Vec::new();
        transformer.forward(&mut prompt, &AverageReward, |z| literal.push(z.query()[K - 1]))?;

        let mut context = AverageRewardContext::<D, Growing, f64>::new();
        for t in &self.transitions {
            context.observe(&t.phi, t.reward, &t.phi_next)?;
        }
        let mut streaming = Vec::new();
        let query = query_token::<f64, D, K>(&self.query);
        transformer.values_by_layer(&context.statistics()?, &query, |v| streaming.push(-v));
        Ok([literal, streaming])
    }

    fn columns<const K: usize>(&self, gamma: f64) -> Vec<SVector<f64, K>> {
        self.transitions.iter().map(|t| ictd_core::transition::token(t, gamma)).collect()
    }
}
