//! What the function of trained layers is: the one judge, of one head and of two, on fresh tasks that no training
//! saw. It asks which share of |v|^2 the classical algorithms explain, and what is lost by keeping other layers.

use crate::error::{Doing, Error};
use crate::train::log::{Matrices, Point, SeedRun};
use crate::train::options::{Attention, Mode, Recipe};
use crate::train::tasks::AnyTasks;
use ictd_core::attention::SoftmaxAttention;
use ictd_core::invariant_set::{commuting_part, share_outside};
use ictd_core::layer::{Layer, LayerParameters, TwoHeadLayer};
use ictd_core::mask::{MeanCentred, Td0, TdLambda};
use ictd_core::metrics::{Algorithm, Fitted, Iteration, Preconditioner, Target};
use ictd_core::prompt::Prompt;
use ictd_core::rng::{Rng, Stream};
use ictd_core::statistic::Statistic;
use ictd_core::tasks::{Task, TaskDistribution};
use ictd_core::transformer::Transformer;
use ictd_core::transition::{Transition, query_token};
use nalgebra::{SMatrix, SVector};

/// Layers, and transitions of a context with the queries after it: at most.
pub const LAYERS: usize = 4;
const LENGTH: usize = 300;
/// States that are asked for after each context.
pub const QUERIES: usize = 16;
/// Contexts of a judge: the first half fits the algorithms, the other judges them.
pub const CONTEXTS: usize = 400;

/// An algorithm that may explain a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// What records call it.
    pub name: &'static str,
    /// It.
    pub algorithm: Algorithm,
    /// Its discount, if it is not the recipe's.
    pub gamma: Option<f64>,
}

/// A candidate with the recipe's discount.
pub const fn candidate(name: &'static str, algorithm: Algorithm) -> Candidate {
    Candidate { name, algorithm, gamma: None }
}

/// Of one head.
pub const CANDIDATES: &[Candidate] = &[
    candidate("TD(0)", Algorithm::Td0),
    candidate("TD(0.3)", Algorithm::TdLambda(0.3)),
    candidate("TD(0.6)", Algorithm::TdLambda(0.6)),
    candidate("TD(0.9)", Algorithm::TdLambda(0.9)),
    candidate("residual gradient", Algorithm::ResidualGradient),
];

/// The share that an algorithm must explain of a function to be it.
pub const EXPLAINED: f64 = 0.9;

/// True if, of the shares explained, a candidate's is at least [`EXPLAINED`] and no other's is larger.
pub fn is(explained: &[f64], candidate: usize) -> bool {
    let share = explained.get(candidate).copied().unwrap_or(f64::NAN);
    share >= EXPLAINED && explained.iter().all(|other| *other <= share)
}

/// What the core says.
pub type Judged<T> = Result<T, ictd_core::Error>;

/// A fresh context, and features of the states that are asked for after it.
pub struct FreshContext<L: Heads, const D: usize> {
    pub transitions: Vec<Transition<f64, D>>,
    pub statistic: L::Statistic,
    pub queries: Vec<SVector<f64, D>>,
}

/// Layers of one head, or of two.
pub trait Heads: LayerParameters<Scalar = f64> {
    /// What they read of a context.
    type Statistic: Sync;

    /// It, of a context of the recipe's.
    fn statistic<const D: usize>(
        recipe: &Recipe,
        context: &[Transition<f64, D>],
    ) -> Judged<Self::Statistic>;

    /// v_TF at the queries after a context; not finite where the layers blow up.
    fn values<const D: usize>(
        recipe: &Recipe,
        transformer: &Transformer<Self, LAYERS>,
        context: &FreshContext<Self, D>,
    ) -> Judged<Vec<f64>>;

    /// The stored layers at the end of a run.
    fn at_end(run: &SeedRun) -> Vec<Self>;
}

impl<const K: usize> Heads for Layer<f64, K> {
    type Statistic = Statistic<f64, K>;

    fn statistic<const D: usize>(
        recipe: &Recipe,
        context: &[Transition<f64, D>],
    ) -> Judged<Statistic<f64, K>> {
        Statistic::of_prompt(&prompt(recipe, context)?, &TdLambda::new(recipe.lambda)?)
    }

    /// Of linear attention by its weights, else by the literal forward pass.
    fn values<const D: usize>(
        recipe: &Recipe,
        transformer: &Transformer<Self, LAYERS>,
        context: &FreshContext<Self, D>,
    ) -> Judged<Vec<f64>> {
        if recipe.attention == Attention::Softmax {
            return literal(recipe, transformer, &context.transitions, &context.queries);
        }
        let u = transformer.readout(&context.statistic);
        Ok(context.queries.iter().map(|phi| -u.fixed_rows::<D>(0).dot(phi)).collect())
    }

    fn at_end(run: &SeedRun) -> Vec<Self> {
        run.last().map_or(Vec::new(), layers)
    }
}

/// The heads of average-reward TD.
impl<const K: usize> Heads for TwoHeadLayer<f64, K> {
    type Statistic = [Statistic<f64, K>; 2];

    fn statistic<const D: usize>(
        _recipe: &Recipe,
        context: &[Transition<f64, D>],
    ) -> Judged<[Statistic<f64, K>; 2]> {
        let prompt = Prompt::<f64, K, LENGTH>::average_reward(context, &SVector::zeros())?;
        Ok([Statistic::of_prompt(&prompt, &MeanCentred)?, Statistic::of_prompt(&prompt, &Td0)?])
    }

    fn values<const D: usize>(
        _recipe: &Recipe,
        transformer: &Transformer<Self, LAYERS>,
        context: &FreshContext<Self, D>,
    ) -> Judged<Vec<f64>> {
        let w = transformer.value_function::<D>(&context.statistic);
        let w = w.map_or([f64::NAN; D], |v| v.weights.into());
        Ok(context.queries.iter().map(|phi| SVector::from(w).dot(phi)).collect())
    }

    fn at_end(run: &SeedRun) -> Vec<Self> {
        let of = |numbers: &[f32]| {
            let mut layer = Self::ZERO;
            let to = layer.matrices_mut().flatten();
            to.zip(numbers).for_each(|(to, from)| *to = f64::from(*from));
            layer
        };
        run.parameters.chunks_exact(6 * K * K).map(of).collect()
    }
}

/// The stored layers of a log point.
pub fn layers<const K: usize>(point: &Point) -> Vec<Layer<f64, K>> {
    let matrix =
        |m: &[f32]| SMatrix::<f64, K, K>::from_row_iterator(m.iter().map(|x| f64::from(*x)));
    point.layers.iter().map(|m: &Matrices| Layer { p: matrix(&m.p), q: matrix(&m.q) }).collect()
}

fn prompt<const D: usize, const K: usize>(
    recipe: &Recipe,
    context: &[Transition<f64, D>],
) -> Judged<Prompt<f64, K, LENGTH>> {
    Prompt::discounted(context, recipe.gamma, &SVector::zeros())
}

/// v_TF at features of queries, by the literal forward pass.
pub fn literal<const D: usize, const K: usize>(
    recipe: &Recipe,
    transformer: &Transformer<Layer<f64, K>, LAYERS>,
    context: &[Transition<f64, D>],
    queries: &[SVector<f64, D>],
) -> Judged<Vec<f64>> {
    let mut prompt = prompt::<D, K>(recipe, context)?;
    let mask = TdLambda::new(recipe.lambda)?;
    let value = |phi: &SVector<f64, D>| {
        prompt.set_query(query_token(phi));
        match recipe.attention {
            Attention::Softmax => transformer.value(&prompt, &SoftmaxAttention),
            _ if recipe.lambda == 0.0 => transformer.value(&prompt, &Td0),
            _ => transformer.value(&prompt, &mask),
        }
    };
    queries.iter().map(value).collect()
}

/// A run's seeds on fresh tasks, the same for all of them.
pub struct Judge<'a, L: Heads, const D: usize> {
    recipe: &'a Recipe,
    /// Each of a task of its own, of the run's distribution and length.
    pub contexts: Vec<FreshContext<L, D>>,
    /// Of each candidate, in each context.
    pub iterations: Vec<Vec<Iteration<D>>>,
}

/// What the function of a seed is; NaN of one that diverged.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The share of |v|^2 that each candidate explains.
    pub explained: Vec<f64>,
    /// The share of the parameters' energy that is outside of the invariant set.
    pub outside: f64,
    /// The share of |v|^2 that is lost by projecting them on it.
    pub lost: f64,
}

impl<'a, L: Heads, const D: usize> Judge<'a, L, D> {
    /// On so many contexts: of one seed those of the smaller number come first.
    pub fn new(
        recipe: &'a Recipe,
        candidates: &[Candidate],
        contexts: usize,
        seed: u64,
    ) -> Judged<Self> {
        let mut rng = Rng::stream(seed, Stream::Evaluation);
        let contexts: Judged<Vec<_>> = (0..contexts).map(|_| draw(recipe, &mut rng)).collect();
        let contexts: Vec<FreshContext<L, D>> = contexts?;
        let of = |Candidate { algorithm, gamma, .. }: &Candidate| {
            let gamma = gamma.unwrap_or(recipe.gamma);
            contexts.iter().map(|c| algorithm.iteration(&c.transitions, gamma)).collect()
        };
        let iterations: Judged<_> = candidates.iter().map(of).collect();
        Ok(Judge { recipe, iterations: iterations?, contexts })
    }

    /// The run's transformer with these stored layers.
    ///
    /// # Errors
    /// As [`Transformer::sequential`].
    pub fn transformer(&self, layers: &[L]) -> Judged<Transformer<L, LAYERS>> {
        match self.recipe.mode {
            Mode::Autoregressive => {
                let first = layers.first().copied().unwrap_or(L::ZERO);
                Transformer::autoregressive(first, self.recipe.layers)
            }
            Mode::Sequential => Transformer::sequential(layers),
        }
    }

    /// v_TF after each context.
    fn values(&self, layers: &[L]) -> Judged<Vec<Vec<f64>>> {
        let transformer = self.transformer(layers)?;
        self.contexts.iter().map(|c| L::values(self.recipe, &transformer, c)).collect()
    }

    /// The share of |v|^2 that each candidate explains in the second half of the contexts, with step sizes that
    /// were fitted in the first.
    pub fn explained(&self, layers: &[L]) -> Judged<Vec<f64>> {
        let of = |(context, values): (&FreshContext<L, D>, Vec<f64>)| {
            let mut target = Target::<D>::default();
            for (phi, v) in context.queries.iter().zip(values) {
                target.add(phi, v, 1.0 / QUERIES as f64);
            }
            target
        };
        let targets: Vec<_> = self.contexts.iter().zip(self.values(layers)?).map(of).collect();
        let half = targets.len() / 2;
        let (fitted, judged) = targets.split_at(half);
        let share = |of: &Vec<Iteration<D>>| {
            // A step size for each layer: a whole matrix fits these tasks better, and others worse than 0.
            let what = Preconditioner::StepSizes;
            let fit = Fitted::<D, LAYERS>::new(&of[..half], fitted, self.recipe.layers, what)?;
            Ok(fit.explained(&of[half..], judged))
        };
        self.iterations.iter().map(share).collect()
    }

    /// The share of |v|^2 that is lost by keeping other layers in place of these.
    pub fn lost(&self, layers: &[L], kept: &[L]) -> Judged<f64> {
        let (mut lost, mut all) = (0.0, 0.0);
        for (values, kept) in self.values(layers)?.iter().zip(self.values(kept)?) {
            for (v, kept) in values.iter().zip(kept) {
                lost += (v - kept) * (v - kept);
                all += v * v;
            }
        }
        Ok(lost / all)
    }

    /// What a seed's function is.
    pub fn function(&self, run: &SeedRun) -> Result<Function, Error> {
        let of = || {
            if run.diverged().is_some() {
                let explained = vec![f64::NAN; self.iterations.len()];
                return Ok(Function { explained, outside: f64::NAN, lost: f64::NAN });
            }
            let layers = L::at_end(run);
            let projected: Vec<_> = layers.iter().map(commuting_part::<D, _>).collect();
            Ok(Function {
                explained: self.explained(&layers)?,
                outside: share_outside::<D, _>(&layers),
                lost: self.lost(&layers, &projected)?,
            })
        };
        of().doing(format!("judging seed {}", run.seed))
    }
}

fn draw<L: Heads, const D: usize>(recipe: &Recipe, rng: &mut Rng) -> Judged<FreshContext<L, D>> {
    let task = TaskDistribution::<f32, D>::draw(&AnyTasks::new(recipe), recipe.gamma as f32, rng)?;
    let trajectory = task.trajectory::<LENGTH>(recipe.context + QUERIES, rng)?;
    let mut transitions: Vec<_> = trajectory.iter().map(wide).collect();
    let after = transitions.split_off(recipe.context.min(transitions.len()));
    let statistic = L::statistic(recipe, &transitions)?;
    Ok(FreshContext { transitions, statistic, queries: after.iter().map(|t| t.phi_next).collect() })
}

/// A task's transition, in which nothing is rounded any more.
pub fn wide<const D: usize>(t: &Transition<f32, D>) -> Transition<f64, D> {
    let Transition { phi, reward, phi_next } = t;
    Transition {
        phi: phi.map(f64::from),
        reward: f64::from(*reward),
        phi_next: phi_next.map(f64::from),
    }
}
