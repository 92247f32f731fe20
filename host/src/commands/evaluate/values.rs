//! Value functions of a user's transitions: the transformer's, its algorithm's, and LSTD's.

use crate::construction::Construction;
use crate::error::{Doing, Error};
use crate::formats::parameters::{Attention, Parameters};
use crate::formats::trajectory::{Features, Trajectory};
use crate::model_file::{self, Universal};
use ictd_core::attention::{SoftmaxAttention, TdLambda};
use ictd_core::constructions;
use ictd_core::context::{AverageRewardContext, Context, Growing};
use ictd_core::layer::Layer;
use ictd_core::linalg::linear_system;
use ictd_core::prompt::Prompt;
use ictd_core::td;
use ictd_core::transformer::Transformer;
use ictd_core::transition::{Transition, query_token};
use ictd_core::value_function::ValueFunction;
use nalgebra::{SMatrix, SVector};
use std::ops::Range;
use std::path::PathBuf;

/// The most transitions that a softmax transformer takes: its cost grows with their square.
pub(super) const SOFTMAX_CONTEXT: usize = 512;

/// What is to be evaluated.
pub(super) struct Input {
    pub(super) trajectory: Trajectory,
    pub(super) query: Option<Features>,
    pub(super) method: Method,
    pub(super) layers: usize,
    pub(super) alpha: f64,
    pub(super) gamma: f64,
    pub(super) lambda: f64,
}

/// The transformer.
pub(super) enum Method {
    Construction(Construction),
    Trained { file: PathBuf, parameters: Box<Parameters>, attention: Attention },
    Universal(Box<Universal>),
}

/// Three value functions on the rows and the queries. The transformer's is always there; the
/// algorithm's is not if its iterates overflow, LSTD's if the data do not determine it.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) transformer: Column,
    pub(super) algorithm: Option<Column>,
    pub(super) lstd: Option<Column>,
}

#[derive(Debug, Default)]
pub(super) struct Column {
    /// v(s) = <w, phi(s)>, exactly or (softmax) as the best fit on the rows; empty if there is none.
    pub(super) weights: Vec<f64>,
    /// For each row of the data.
    pub(super) values: Vec<f64>,
    /// For each query.
    pub(super) query_values: Vec<f64>,
    /// The root of the mean squared TD error over the transitions.
    pub(super) td_error: f64,
}

/// Evaluates on data of at most D features; K = 2 D + 1, A = 2 D + 2.
pub(super) fn evaluate<const D: usize, const K: usize, const A: usize>(
    input: &Input,
) -> Result<Output, Error> {
    let data = Data::<D>::new(input);
    let transformer = match &input.method {
        Method::Construction(Construction::AverageReward) => {
            data.linear(input, &average_reward::<D, A>(input, &data)?)
        }
        Method::Construction(construction) => {
            let c = constructions::learning_rate(input.alpha);
            let layer = match construction {
                Construction::ResidualGradient => constructions::residual_gradient::<_, D, K>(&c),
                _ => constructions::td0(&c),
            };
            let transformer = Transformer::<_, { model_file::MAX_STORED_LAYERS }>::autoregressive(
                layer,
                input.layers,
            )
            .doing("the construction")?;
            data.linear(input, &value_function(input, &data, &transformer)?)
        }
        Method::Trained { file, parameters, attention } => {
            let transformer = model_file::transformer_of::<K>(file, parameters, input.layers)?;
            match (attention, parameters.prior_count) {
                (Attention::Linear, Some(prior_count)) => {
                    normalised(input, &data, &transformer, prior_count)?
                }
                (Attention::Linear, None) => {
                    data.linear(input, &value_function(input, &data, &transformer)?)
                }
                (Attention::Softmax, _) => softmax(input, &data, &transformer)?,
            }
        }
        Method::Universal(model) => {
            let value = model.value_function(&data.context(*model.mask())?).doing("the data")?;
            data.column(input, value.value_function.weights, |phi| value.at(phi))
        }
    };
    let column = |weights: Option<SVector<f64, D>>| {
        weights.map(|weights| data.linear(input, &ValueFunction { weights }))
    };
    Ok(Output {
        transformer,
        algorithm: column(algorithm(input, &data)),
        lstd: column(lstd(input, &data)),
    })
}

/// The data with room for D features as a type.
struct Data<const D: usize> {
    /// d.
    dim: usize,
    transitions: Vec<Transition<f64, D>>,
    /// The transitions of each episode.
    episodes: Vec<Range<usize>>,
    rows: Vec<SVector<f64, D>>,
    queries: Vec<SVector<f64, D>>,
}

impl<const D: usize> Data<D> {
    fn new(input: &Input) -> Self {
        let rows =
            |features: &Features| (0..features.len()).filter_map(|i| features.row(i)).collect();
        Data {
            dim: input.trajectory.phi.dimension,
            transitions: input.trajectory.transitions().unwrap_or_default(),
            episodes: input.trajectory.episodes(),
            rows: rows(&input.trajectory.phi),
            queries: input.query.as_ref().map(rows).unwrap_or_default(),
        }
    }

    fn episodes(&self) -> impl Iterator<Item = &[Transition<f64, D>]> {
        self.episodes.iter().filter_map(|episode| self.transitions.get(episode.clone()))
    }

    fn linear(&self, input: &Input, v: &ValueFunction<f64, D>) -> Column {
        self.column(input, v.weights, |phi| v.at(phi))
    }

    fn column(
        &self,
        input: &Input,
        weights: SVector<f64, D>,
        value: impl Fn(&SVector<f64, D>) -> f64,
    ) -> Column {
        let at = |rows: &[SVector<f64, D>]| rows.iter().map(&value).collect();
        Column {
            weights: weights.iter().take(self.dim).copied().collect(),
            values: at(&self.rows),
            query_values: at(&self.queries),
            td_error: self.td_error(input, |phi| Ok::<_, Error>(value(phi))).unwrap_or(f64::NAN),
        }
    }

    /// The context of all episodes.
    fn context(
        &self,
        mask: TdLambda<f64>,
    ) -> Result<Context<D, TdLambda<f64>, Growing, f64>, Error> {
        let mut context = Context::<D, _, _, f64>::with(mask, Growing);
        for episode in self.episodes() {
            for transition in episode {
                context.observe_transition(transition).doing("the data")?;
            }
            context.end_episode();
        }
        Ok(context)
    }

    /// Root mean square of R + gamma v(s') - v(s), or of R - mean R + v(s') - v(s).
    fn td_error<E>(
        &self,
        input: &Input,
        mut value: impl FnMut(&SVector<f64, D>) -> Result<f64, E>,
    ) -> Result<f64, E> {
        let (gamma, mean) = match input.method {
            Method::Construction(Construction::AverageReward) => (1.0, self.mean_reward()),
            _ => (input.gamma, 0.0),
        };
        let mut sum = 0.0;
        for t in &self.transitions {
            let delta = t.reward - mean + gamma * value(&t.phi_next)? - value(&t.phi)?;
            sum += delta * delta;
        }
        Ok((sum / self.transitions.len() as f64).sqrt())
    }

    fn mean_reward(&self) -> f64 {
        let mut sum = 0.0;
        for t in &self.transitions {
            sum += t.reward;
        }
        sum / self.transitions.len() as f64
    }
}

/// Shown beside the core's reason when the layers overflow.
const BLOW_UP: &str = "the forward pass (scale the features to about [-1, 1], or lower --alpha)";

fn value_function<const D: usize, const K: usize>(
    input: &Input,
    data: &Data<D>,
    transformer: &Transformer<Layer<f64, K>, { model_file::MAX_STORED_LAYERS }>,
) -> Result<ValueFunction<f64, D>, Error> {
    // Trace decay 0 is TD(0)'s mask.
    let mask = TdLambda::new(input.lambda).doing("--lambda")?;
    let statistic = data.context(mask)?.statistic::<K>(input.gamma, 0).doing("the data")?;
    transformer.value_function(&statistic).doing(BLOW_UP)
}

/// The values of layers that read the context without units.
fn normalised<const D: usize, const K: usize>(
    input: &Input,
    data: &Data<D>,
    transformer: &Transformer<Layer<f64, K>, { model_file::MAX_STORED_LAYERS }>,
    prior_count: f64,
) -> Result<Column, Error> {
    let context = data.context(TdLambda::new(input.lambda).doing("--lambda")?)?;
    let statistic = context.normalised(input.gamma, 0, prior_count).doing("the data")?;
    let value = transformer.normalised_value_function(&statistic).doing("the data")?;
    let largest = context.largest_reward().of(0);
    let bounded = statistic.bounded(value, context.weight(), input.gamma, largest);
    Ok(data.column(input, value.weights, |phi| bounded.at(phi)))
}

fn average_reward<const D: usize, const A: usize>(
    input: &Input,
    data: &Data<D>,
) -> Result<ValueFunction<f64, D>, Error> {
    let layer =
        constructions::average_reward::<f64, D, A>(&constructions::learning_rate(input.alpha));
    let transformer =
        Transformer::<_, 1>::autoregressive(layer, input.layers).doing("the construction")?;
    let mut context = AverageRewardContext::<D, Growing, f64>::new();
    for t in &data.transitions {
        context.observe(&t.phi, t.reward, &t.phi_next).doing("the data")?;
    }
    let heads = context.statistics::<A>().doing("the data")?;
    transformer.value_function(&heads).doing(BLOW_UP)
}

fn softmax<const D: usize, const K: usize>(
    input: &Input,
    data: &Data<D>,
    transformer: &Transformer<Layer<f64, K>, { model_file::MAX_STORED_LAYERS }>,
) -> Result<Column, Error> {
    if data.transitions.len() > SOFTMAX_CONTEXT {
        let accepted = format!("accepted for softmax attention are at most {SOFTMAX_CONTEXT}");
        let reason = format!("{} transitions; {accepted}", data.transitions.len());
        return Err(Error::option("--data", reason));
    }
    let nothing = SVector::zeros();
    let mut prompt =
        Prompt::<f64, K, SOFTMAX_CONTEXT>::discounted(&data.transitions, input.gamma, &nothing)
            .doing("the data")?;
    let mut value = |phi: &SVector<f64, D>| {
        prompt.set_query(query_token(phi));
        transformer.value(&prompt, &SoftmaxAttention).doing("softmax attention")
    };
    let mut at =
        |rows: &[SVector<f64, D>]| rows.iter().map(&mut value).collect::<Result<Vec<_>, _>>();
    let (values, query_values) = (at(&data.rows)?, at(&data.queries)?);
    // The implicit weights: the linear function that fits v on the transitions' states best.
    let n = data.transitions.len();
    let (mut a, mut b) = (SMatrix::<f64, SOFTMAX_CONTEXT, D>::zeros(), SVector::zeros());
    for (i, (t, v)) in data.transitions.iter().zip(&values).enumerate() {
        a.set_row(i, &t.phi.transpose());
        b[i] = *v;
    }
    let size = [n, data.dim];
    let weights = linear_system::least_squares_of_size(a, b, size, "the implicit weights");
    Ok(Column {
        weights: weights.map(|w| w.iter().take(data.dim).copied().collect()).unwrap_or_default(),
        td_error: data.td_error(input, value)?,
        values,
        query_values,
    })
}

/// The classical algorithm with as many iterations as there are layers, from w = 0; none if its
/// iterates overflow.
fn algorithm<const D: usize>(input: &Input, data: &Data<D>) -> Option<SVector<f64, D>> {
    let c = constructions::learning_rate(input.alpha);
    let mut w = SVector::<f64, D>::zeros();
    for _ in 0..input.layers {
        let transitions = &data.transitions;
        w = match input.method {
            Method::Construction(Construction::AverageReward) => {
                td::average_reward::update(&w, &c, transitions)
            }
            Method::Construction(Construction::ResidualGradient) => {
                td::residual_gradient::update(&w, &c, transitions, input.gamma)
            }
            _ => td_lambda(&w, &c, data, input),
        }
        .ok()?;
    }
    w.iter().all(|x| x.is_finite()).then_some(w)
}

/// TD(lambda) with a trace of its own in each episode: the mean of the episodes' new w, weighted by their
/// numbers of transitions.
fn td_lambda<const D: usize>(
    w: &SVector<f64, D>,
    c: &SMatrix<f64, D, D>,
    data: &Data<D>,
    input: &Input,
) -> Result<SVector<f64, D>, ictd_core::error::Error> {
    let mut mean = SVector::zeros();
    for episode in data.episodes() {
        let share = episode.len() as f64 / data.transitions.len() as f64;
        mean += td::td_lambda::update(w, c, episode, input.gamma, input.lambda)? * share;
    }
    Ok(mean)
}

/// LSTD(lambda) with a trace of its own in each episode, for average reward with the rewards centred; none if the
/// data do not determine it.
fn lstd<const D: usize>(input: &Input, data: &Data<D>) -> Option<SVector<f64, D>> {
    let (gamma, lambda, mean) = match input.method {
        Method::Construction(Construction::AverageReward) => (1.0, 0.0, data.mean_reward()),
        _ => (input.gamma, input.lambda, 0.0),
    };
    let (mut a, mut b) = (SMatrix::<f64, D, D>::zeros(), SVector::zeros());
    for episode in data.episodes() {
        let mut trace = SVector::<f64, D>::zeros();
        for t in episode {
            trace = trace * lambda + t.phi;
            a += trace * (t.phi - t.phi_next * gamma).transpose();
            b += trace * (t.reward - mean);
        }
    }
    linear_system::solve(a, b, data.dim, "the LSTD system").ok()
}
