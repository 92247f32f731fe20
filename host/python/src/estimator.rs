//! A model or a classical algorithm, and what it has read of a stream, when the number of features is known
//! at run time. In f64, by the same calls in the same order as `ictd evaluate`: its bits.

pub(crate) use ictd::Error;
use ictd::construction::Construction;
use ictd::error::Doing as _;
use ictd::formats::parameters::{Attention, Parameters};
use ictd::model_file::{self, MAX_STORED_LAYERS, Universal};
use ictd_core::attention::SoftmaxAttention;
use ictd_core::constructions;
use ictd_core::context::{AverageRewardContext, Context, Forgetting, Growing, Window};
use ictd_core::layer::Layer;
use ictd_core::mask::TdLambda;
use ictd_core::prompt::Prompt;
use ictd_core::td::{Algorithm, BatchTd, Learner, Lstd, OnlineTd, RecursiveLstd};
use ictd_core::transformer::Transformer;
use ictd_core::transition::{Transition, query_token};
use ictd_core::value_function::{BoundedValueFunction, ValueFunction};
use nalgebra::SVector;
use std::path::PathBuf;

/// The most features.
pub(crate) const MAX_FEATURES: usize = 32;

/// The most transitions that a softmax transformer takes: its cost grows with their square.
const SOFTMAX_CONTEXT: usize = 512;

/// What reads a stream.
#[derive(Clone)]
pub(crate) enum Method {
    /// Ten numbers a layer, for any number of features.
    Universal(Box<Universal>),
    /// Trained parameters.
    Trained { file: PathBuf, parameters: Box<Parameters>, attention: Attention },
    /// Parameters of the paper's, C = alpha I.
    Constructed { construction: Construction, d: usize, alpha: f64, lambda: f64 },
    /// Online TD(lambda), with accumulating traces or as true online TD(lambda).
    OnlineTd { lambda: f64, alpha: f64, true_online: bool },
    /// Recursive LSTD(lambda).
    RecursiveLstd { lambda: f64, retention: f64, ridge: f64 },
    /// Batch TD(lambda), so many iterations from w = 0.
    BatchTd { lambda: f64, alpha: f64 },
    /// LSTD(lambda).
    Lstd { lambda: f64, ridge: f64 },
}

/// A model or an algorithm with its settings.
#[derive(Clone)]
pub(crate) struct Estimator {
    pub(crate) method: Method,
    /// The discount; 1 for average reward.
    pub(crate) gamma: f64,
    /// Layers L, or iterations; 0 of an algorithm without.
    pub(crate) layers: usize,
}

/// A stream that an estimator has read. Feature vectors have its number of features.
pub(crate) trait Stream: Send + Sync {
    /// Takes a transition; without `phi_next` it ends the episode.
    fn observe(&mut self, phi: &[f64], reward: f64, phi_next: Option<&[f64]>) -> Result<(), Error>;
    /// The next transition does not follow the last one.
    fn end_episode(&mut self);
    /// How many transitions there were.
    fn len(&self) -> u64;
    /// Forgets everything.
    fn clear(&mut self);
    /// The weights w of v(s) = <w, phi(s)>, as many as there is room for.
    fn weights(&self) -> Result<Vec<f64>, Error>;
    /// The values of states, row by row.
    fn values(&self, queries: &[f64]) -> Result<Vec<f64>, Error>;
    /// A copy.
    fn copy(&self) -> Box<dyn Stream>;
}

impl Estimator {
    /// The number of features that it takes, if that is not any.
    pub(crate) fn features(&self) -> Option<usize> {
        match &self.method {
            Method::Trained { parameters, .. } => Some(parameters.feature_dimension()),
            Method::Constructed { d, .. } => Some(*d),
            _ => None,
        }
    }

    /// The same for another discount.
    pub(crate) fn with_gamma(&self, gamma: f64) -> Result<Self, Error> {
        let mut other = self.clone();
        if self.is_average_reward() {
            return Err(Error::option("gamma", "average reward has no discount"));
        }
        if let Method::Universal(model) = &mut other.method {
            // The mask of the model that ships goes with the discount.
            **model = match model_file::shipped(self.gamma)? {
                shipped if shipped == **model => model_file::shipped(gamma)?,
                _ => model_file::converted(model, gamma, |x| x).doing("the model")?,
            };
        }
        other.gamma = gamma;
        // As every other number, judged where it is used.
        other.stream(1, None).map(|_| other)
    }

    pub(crate) fn is_average_reward(&self) -> bool {
        let average = Construction::AverageReward;
        matches!(&self.method, Method::Constructed { construction, .. } if *construction == average)
    }

    /// An empty stream of d features, which remembers everything, or shrinks the past by `retention` with each
    /// transition.
    pub(crate) fn stream(
        &self,
        d: usize,
        retention: Option<f64>,
    ) -> Result<Box<dyn Stream>, Error> {
        // Room for so many features; the others are 0.
        macro_rules! with_room {
            ($window:expr) => {
                match d {
                    1..=4 => self.of_room::<4, 9, 10, _>(d, $window),
                    5..=8 => self.of_room::<8, 17, 18, _>(d, $window),
                    9..=16 => self.of_room::<16, 33, 34, _>(d, $window),
                    17..=MAX_FEATURES => self.of_room::<32, 65, 66, _>(d, $window),
                    _ => Err(Error::option("d", format!("{d}; accepted is 1 to {MAX_FEATURES}"))),
                }
            };
        }
        match retention {
            None => with_room!(Growing),
            Some(_) if !self.has_a_context() => {
                Err(Error::option("retention", "accepted for what reads a context"))
            }
            Some(retention) => {
                let window = Forgetting::new(retention).doing("the context")?;
                with_room!(window)
            }
        }
    }

    fn has_a_context(&self) -> bool {
        let softmax = matches!(&self.method, Method::Trained { attention: Attention::Softmax, .. });
        let online = matches!(&self.method, Method::OnlineTd { .. } | Method::RecursiveLstd { .. });
        !softmax && !online
    }

    fn of_room<const D: usize, const K: usize, const A: usize, W>(
        &self,
        d: usize,
        window: W,
    ) -> Result<Box<dyn Stream>, Error>
    where
        W: Window<f64> + 'static,
        Context<D, TdLambda<f64>, W, f64>: Send + Sync,
        AverageRewardContext<D, W, f64>: Send + Sync,
    {
        let (gamma, layers) = (self.gamma, self.layers);
        let mask = |lambda| TdLambda::new(lambda).doing("the model");
        let context = |mask| Context::<D, TdLambda<f64>, W, f64>::with(mask, window);
        Ok(match &self.method {
            Method::Universal(model) => {
                let model = model.clone();
                let context = context(*model.mask());
                boxed(d, context, move |c| Ok(Value::Bounded(model.value_function(c)?)))
            }
            Method::Trained { attention: Attention::Softmax, file, parameters } => {
                let transformer = model_file::transformer_of::<K>(file, parameters, layers)?;
                let transitions = Vec::new();
                Box::new(Softmax::<D, K> { d, gamma, transformer, transitions })
            }
            Method::Trained { file, parameters, .. } => {
                let transformer = model_file::transformer_of::<K>(file, parameters, layers)?;
                let context = context(mask(parameters.lambda)?);
                match parameters.prior_count {
                    None => linear(d, context, transformer, gamma),
                    Some(prior_count) => boxed(d, context, move |c| {
                        let statistic = c.normalised(gamma, 0, prior_count)?;
                        let value = transformer.normalised_value_function(&statistic)?;
                        let largest = c.largest_reward().of(0);
                        Ok(Value::Bounded(statistic.bounded(value, c.weight(), gamma, largest)))
                    }),
                }
            }
            &Method::Constructed { construction: Construction::AverageReward, alpha, .. } => {
                let c = constructions::learning_rate(alpha);
                let layer = constructions::average_reward::<f64, D, A>(&c);
                let transformer = Transformer::<_, 1>::autoregressive(layer, layers);
                let transformer = transformer.doing("the construction")?;
                let context = AverageRewardContext::<D, W, f64>::with(window);
                boxed(d, context, move |c| {
                    Ok(Value::Linear(transformer.value_function(&c.statistics::<A>()?)?))
                })
            }
            &Method::Constructed { construction, alpha, lambda, .. } => {
                let c = constructions::learning_rate(alpha);
                let layer: Layer<f64, K> = match construction {
                    Construction::ResidualGradient => {
                        constructions::residual_gradient::<_, D, K>(&c)
                    }
                    _ => constructions::td0::<_, D, K>(&c),
                };
                let transformer =
                    Transformer::autoregressive(layer, layers).doing("the construction")?;
                let with_trace = construction == Construction::TdLambda;
                linear(d, context(mask(if with_trace { lambda } else { 0.0 })?), transformer, gamma)
            }
            &Method::OnlineTd { lambda, alpha, true_online } => {
                let new = if true_online { OnlineTd::true_online } else { OnlineTd::new };
                let td = new(gamma, lambda, alpha).doing("online TD")?;
                boxed(d, td.context::<D>(), move |c| Ok(Value::Linear(td.value_function(c)?)))
            }
            &Method::RecursiveLstd { lambda, retention, ridge } => {
                let lstd = RecursiveLstd::new(gamma, lambda, retention, ridge);
                let lstd = lstd.doing("recursive LSTD")?;
                boxed(d, lstd.context::<D>(), move |c| Ok(Value::Linear(lstd.value_function(c)?)))
            }
            &Method::BatchTd { lambda, alpha } => {
                let td = BatchTd::new(gamma, lambda, alpha, layers).doing("batch TD")?;
                boxed(d, context(*td.mask()), move |c| Ok(Value::Linear(td.value_function(c)?)))
            }
            &Method::Lstd { lambda, ridge } => {
                let lstd = Lstd::new(gamma, lambda, ridge).doing("LSTD")?;
                boxed(d, context(*lstd.mask()), move |c| Ok(Value::Linear(lstd.value_function(c)?)))
            }
        })
    }
}

fn linear<const D: usize, const K: usize, W>(
    d: usize,
    context: Context<D, TdLambda<f64>, W, f64>,
    transformer: Transformer<Layer<f64, K>, MAX_STORED_LAYERS>,
    gamma: f64,
) -> Box<dyn Stream>
where
    W: Window<f64> + 'static,
    Context<D, TdLambda<f64>, W, f64>: Send + Sync,
{
    boxed(d, context, move |c| {
        Ok(Value::Linear(transformer.value_function(&c.statistic::<K>(gamma, 0)?)?))
    })
}

/// A value function of D features.
enum Value<const D: usize> {
    Linear(ValueFunction<f64, D>),
    Bounded(BoundedValueFunction<f64, D>),
}

/// What takes transitions of D features.
trait Observer<const D: usize>: Clone + Send + Sync + 'static {
    fn observe(&mut self, t: &Transition<f64, D>, terminal: bool) -> Result<(), ictd_core::Error>;
    fn end_episode(&mut self);
    fn len(&self) -> u64;
    fn clear(&mut self);
}

impl<const D: usize, W> Observer<D> for Context<D, TdLambda<f64>, W, f64>
where
    W: Window<f64> + 'static,
    Context<D, TdLambda<f64>, W, f64>: Send + Sync,
{
    fn observe(&mut self, t: &Transition<f64, D>, terminal: bool) -> Result<(), ictd_core::Error> {
        if terminal { self.observe_terminal(&t.phi, t.reward) } else { self.observe_transition(t) }
    }

    fn end_episode(&mut self) {
        Context::end_episode(self);
    }

    fn len(&self) -> u64 {
        Context::len(self)
    }

    fn clear(&mut self) {
        Context::clear(self);
    }
}

impl<const D: usize, A> Observer<D> for Learner<D, A, f64>
where
    A: Algorithm<f64> + Send + Sync + 'static,
    A::State<D, 1>: Send + Sync,
{
    fn observe(&mut self, t: &Transition<f64, D>, terminal: bool) -> Result<(), ictd_core::Error> {
        if terminal { self.observe_terminal(&t.phi, t.reward) } else { self.observe_transition(t) }
    }

    fn end_episode(&mut self) {
        Learner::end_episode(self);
    }

    fn len(&self) -> u64 {
        Learner::len(self)
    }

    fn clear(&mut self) {
        Learner::clear(self);
    }
}

impl<const D: usize, W> Observer<D> for AverageRewardContext<D, W, f64>
where
    W: Window<f64> + 'static,
    AverageRewardContext<D, W, f64>: Send + Sync,
{
    fn observe(&mut self, t: &Transition<f64, D>, terminal: bool) -> Result<(), ictd_core::Error> {
        if terminal {
            let accepted = "transitions without an end: average reward is of what never ends";
            return Err(ictd_core::Error::OutOfRange { parameter: "phi_next", accepted });
        }
        AverageRewardContext::observe(self, &t.phi, t.reward, &t.phi_next)
    }

    fn end_episode(&mut self) {}

    fn len(&self) -> u64 {
        AverageRewardContext::len(self)
    }

    fn clear(&mut self) {
        AverageRewardContext::clear(self);
    }
}

/// What has observed, and the function that reads it.
#[derive(Clone)]
struct Reader<O, F> {
    d: usize,
    observer: O,
    read: F,
}

fn boxed<const D: usize, O, F>(d: usize, observer: O, read: F) -> Box<dyn Stream>
where
    O: Observer<D>,
    F: Fn(&O) -> Result<Value<D>, ictd_core::Error> + Clone + Send + Sync + 'static,
{
    Box::new(OfRoom::<D, _>(Reader { d, observer, read }))
}

/// With room for D features.
#[derive(Clone)]
struct OfRoom<const D: usize, R>(R);

fn padded<const D: usize>(features: &[f64]) -> SVector<f64, D> {
    SVector::from_fn(|i, _| features.get(i).copied().unwrap_or(0.0))
}

fn transition<const D: usize>(
    phi: &[f64],
    reward: f64,
    phi_next: Option<&[f64]>,
) -> Transition<f64, D> {
    let phi_next = phi_next.map_or(SVector::zeros(), padded);
    Transition { phi: padded(phi), reward, phi_next }
}

impl<const D: usize, O, F> Stream for OfRoom<D, Reader<O, F>>
where
    O: Observer<D>,
    F: Fn(&O) -> Result<Value<D>, ictd_core::Error> + Clone + Send + Sync + 'static,
{
    fn observe(&mut self, phi: &[f64], reward: f64, phi_next: Option<&[f64]>) -> Result<(), Error> {
        let t = transition(phi, reward, phi_next);
        self.0.observer.observe(&t, phi_next.is_none()).doing("observing")
    }

    fn end_episode(&mut self) {
        self.0.observer.end_episode();
    }

    fn len(&self) -> u64 {
        self.0.observer.len()
    }

    fn clear(&mut self) {
        self.0.observer.clear();
    }

    fn weights(&self) -> Result<Vec<f64>, Error> {
        let Reader { d, observer, read } = &self.0;
        let weights = match read(observer).doing("the value function")? {
            Value::Linear(v) => v.weights,
            Value::Bounded(v) => v.value_function.weights,
        };
        Ok(weights.iter().take(*d).copied().collect())
    }

    fn values(&self, queries: &[f64]) -> Result<Vec<f64>, Error> {
        let Reader { d, observer, read } = &self.0;
        let rows = queries.chunks_exact(*d).map(padded::<D>);
        Ok(match read(observer).doing("the value function")? {
            Value::Linear(v) => rows.map(|phi| v.at(&phi)).collect(),
            Value::Bounded(v) => rows.map(|phi| v.at(&phi)).collect(),
        })
    }

    fn copy(&self) -> Box<dyn Stream> {
        Box::new(self.clone())
    }
}

/// A softmax transformer keeps its transitions.
#[derive(Clone)]
struct Softmax<const D: usize, const K: usize> {
    d: usize,
    gamma: f64,
    transformer: Transformer<Layer<f64, K>, MAX_STORED_LAYERS>,
    transitions: Vec<Transition<f64, D>>,
}

impl<const D: usize, const K: usize> Stream for Softmax<D, K> {
    fn observe(&mut self, phi: &[f64], reward: f64, phi_next: Option<&[f64]>) -> Result<(), Error> {
        if self.transitions.len() == SOFTMAX_CONTEXT {
            let accepted = format!("at most {SOFTMAX_CONTEXT} transitions with softmax attention");
            return Err(Error::option("phi", format!("accepted are {accepted}")));
        }
        self.transitions.push(transition(phi, reward, phi_next));
        Ok(())
    }

    fn end_episode(&mut self) {}

    fn len(&self) -> u64 {
        self.transitions.len() as u64
    }

    fn clear(&mut self) {
        self.transitions.clear();
    }

    fn weights(&self) -> Result<Vec<f64>, Error> {
        Err(Error::option("model", "softmax attention: its value is not linear in the features"))
    }

    fn values(&self, queries: &[f64]) -> Result<Vec<f64>, Error> {
        let nothing = SVector::zeros();
        let mut prompt =
            Prompt::<f64, K, SOFTMAX_CONTEXT>::discounted(&self.transitions, self.gamma, &nothing)
                .doing("the context")?;
        let value = |phi: &[f64]| {
            prompt.set_query(query_token(&padded::<D>(phi)));
            self.transformer.value(&prompt, &SoftmaxAttention).doing("softmax attention")
        };
        queries.chunks_exact(self.d).map(value).collect()
    }

    fn copy(&self) -> Box<dyn Stream> {
        Box::new(self.clone())
    }
}
