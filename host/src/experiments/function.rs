//! What the function of trained parameters is: on fresh tasks, the share of |v|^2 that classical algorithms
//! explain, and what is lost by projecting the parameters on their invariant set.

use crate::error::{Doing, Error};
use crate::train::log::SeedRun;
use crate::train::options::Recipe;
use crate::train::tasks::{AnyTask, AnyTasks};
use ictd_core::invariant_set::{commuting_part, share_outside};
use ictd_core::layer::{Layer, LayerParameters, TwoHeadLayer};
use ictd_core::mask::{Mask, MeanCentred, Td0, TdLambda};
use ictd_core::metrics::{Algorithm, Fitted, Iteration, Preconditioner, Target};
use ictd_core::prompt::Prompt;
use ictd_core::rng::{Rng, Stream};
use ictd_core::statistic::Statistic;
use ictd_core::tasks::{Task, TaskDistribution};
use ictd_core::transformer::Transformer;
use ictd_core::transition::Transition;
use nalgebra::SVector;

/// Features; those of a token with one head, and with two.
const D: usize = 4;
const K: usize = 9;
const TWO_HEAD_K: usize = 10;
/// Layers, and transitions of a context: at most.
const LAYERS: usize = 4;
const LENGTH: usize = 64;

/// An algorithm that may explain a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Its name.
    pub name: &'static str,
    /// It.
    pub algorithm: Algorithm,
    /// Its discount.
    pub gamma: f64,
}

/// The share that an algorithm must explain of a seed's function to be it.
pub const EXPLAINED: f64 = 0.9;

/// A fresh task with a context.
struct Asked {
    context: Vec<Transition<f64, D>>,
    /// Features of its states, and how often it is in each.
    states: Vec<(SVector<f64, D>, f64)>,
}

/// What a seed was found to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The share of |v|^2 that each candidate explains; NaN of a seed that diverged.
    pub shares: Vec<f64>,
    /// The share of the parameters' energy that is outside of the invariant set.
    pub outside: f64,
    /// The share of |v|^2 that is lost by projecting them on it.
    pub lost: f64,
}

impl Explained {
    /// True if a candidate explains [`EXPLAINED`], and no other explains more.
    pub fn is(&self, candidate: usize) -> bool {
        let share = self.shares.get(candidate).copied().unwrap_or(f64::NAN);
        share >= EXPLAINED && self.shares.iter().all(|other| *other <= share)
    }
}

/// Judges the seeds of a run.
pub struct Judge<'a> {
    recipe: &'a Recipe,
    asked: Vec<Asked>,
    /// Of each candidate, in each context.
    iterations: Vec<Vec<Iteration<D>>>,
}

impl<'a> Judge<'a> {
    /// On so many fresh tasks, the same for the same seed. Half of them fit the candidates' step sizes, the others
    /// judge.
    pub fn new(
        recipe: &'a Recipe,
        candidates: &[Candidate],
        tasks: usize,
        seed: u64,
    ) -> Result<Self, Error> {
        let mut rng = Rng::stream(seed, Stream::Evaluation);
        let asked: Result<Vec<_>, _> = (0..tasks.max(2)).map(|_| ask(recipe, &mut rng)).collect();
        let asked = asked.doing("fresh tasks")?;
        let of = |candidate: &Candidate| {
            let Candidate { algorithm, gamma, .. } = candidate;
            asked.iter().map(|asked| algorithm.iteration(&asked.context, *gamma)).collect()
        };
        let iterations: Result<Vec<Vec<_>>, _> = candidates.iter().map(of).collect();
        let iterations = iterations.doing("fresh tasks")?;
        Ok(Judge { recipe, asked, iterations })
    }

    /// What a seed is.
    pub fn explain(&self, run: &SeedRun) -> Result<Explained, Error> {
        let of = || match self.recipe.heads {
            2 => {
                let layers = two_head_layers(run);
                let of = |layers: &[_]| self.two_head_weights(layers);
                self.of_layers(&layers, commuting_part::<D, _>, share_outside::<D, _>, of)
            }
            _ => {
                let layers = layers(run);
                let of = |layers: &[_]| self.weights(layers);
                self.of_layers(&layers, commuting_part::<D, _>, share_outside::<D, _>, of)
            }
        };
        of().doing(format!("judging seed {}", run.seed))
    }

    fn of_layers<L: LayerParameters>(
        &self,
        layers: &[L],
        project: impl Fn(&L) -> L,
        outside: impl Fn(&[L]) -> f64,
        weights: impl Fn(&[L]) -> Result<Vec<SVector<f64, D>>, ictd_core::Error>,
    ) -> Result<Explained, ictd_core::Error> {
        let nothing = Explained {
            shares: vec![f64::NAN; self.iterations.len()],
            outside: f64::NAN,
            lost: f64::NAN,
        };
        // A seed that has diverged has no function.
        let Ok(w) = weights(layers) else { return Ok(nothing) };
        let targets: Vec<_> =
            self.asked.iter().zip(&w).map(|(asked, w)| target(asked, w)).collect();
        let energy: f64 = targets.iter().map(|target| target.energy).sum();
        let projected: Vec<L> = layers.iter().map(project).collect();
        let lost = weights(&projected).map_or(f64::NAN, |kept| {
            targets.iter().zip(&kept).map(|(target, w)| target.residual(w)).sum::<f64>() / energy
        });
        let half = self.asked.len() / 2;
        let share = |of: &Vec<Iteration<D>>| {
            let fitted = Fitted::<D, LAYERS>::new(
                &of[..half],
                &targets[..half],
                self.recipe.layers,
                Preconditioner::StepSizes,
            )?;
            Ok(fitted.explained(&of[half..], &targets[half..]))
        };
        let shares: Result<_, ictd_core::Error> = self.iterations.iter().map(share).collect();
        Ok(Explained { shares: shares?, outside: outside(layers), lost })
    }

    /// v's weights in each context.
    fn weights(&self, layers: &[Layer<f64, K>]) -> Result<Vec<SVector<f64, D>>, ictd_core::Error> {
        let transformer = transformer(layers, self.recipe.layers)?;
        let mask = TdLambda::new(self.recipe.lambda)?;
        let of = |asked: &Asked| {
            let gamma = self.recipe.gamma;
            let prompt =
                Prompt::<f64, K, LENGTH>::discounted(&asked.context, gamma, &SVector::zeros())?;
            let v = transformer.value_function::<D>(&Statistic::of_prompt(&prompt, &mask)?)?;
            Ok(SVector::from(v.weights))
        };
        self.asked.iter().map(of).collect()
    }

    /// The same of two heads.
    fn two_head_weights(
        &self,
        layers: &[TwoHeadLayer<f64, TWO_HEAD_K>],
    ) -> Result<Vec<SVector<f64, D>>, ictd_core::Error> {
        let transformer = transformer(layers, self.recipe.layers)?;
        let of = |asked: &Asked| {
            let prompt = Prompt::<f64, TWO_HEAD_K, LENGTH>::average_reward(
                &asked.context,
                &SVector::zeros(),
            )?;
            let heads = [statistic(&prompt, &MeanCentred)?, statistic(&prompt, &Td0)?];
            Ok(SVector::from(transformer.value_function::<D>(&heads)?.weights))
        };
        self.asked.iter().map(of).collect()
    }
}

fn statistic<const N: usize>(
    prompt: &Prompt<f64, N, LENGTH>,
    mask: &impl Mask<f64>,
) -> Result<Statistic<f64, N>, ictd_core::Error> {
    Statistic::of_prompt(prompt, mask)
}

/// One stored layer that all share, or one for each.
fn transformer<L: LayerParameters>(
    layers: &[L],
    depth: usize,
) -> Result<Transformer<L, LAYERS>, ictd_core::Error> {
    match layers {
        [layer] => Transformer::autoregressive(*layer, depth),
        layers => Transformer::sequential(layers),
    }
}

/// P and Q at the end of a run.
pub fn layers(run: &SeedRun) -> Vec<Layer<f64, K>> {
    layers_at(run, run.points.len().saturating_sub(1))
}

/// P and Q at log point t.
pub fn layers_at(run: &SeedRun, t: usize) -> Vec<Layer<f64, K>> {
    let stored = run.points.get(t).map_or(&[][..], |point| &point.layers);
    let matrix = |m: &[f32]| {
        nalgebra::SMatrix::<f64, K, K>::from_row_iterator(m.iter().map(|x| f64::from(*x)))
    };
    stored.iter().map(|m| Layer { p: matrix(&m.p), q: matrix(&m.q) }).collect()
}

/// The layers of two heads, from the parameters in the core's order.
pub fn two_head_layers(run: &SeedRun) -> Vec<TwoHeadLayer<f64, TWO_HEAD_K>> {
    let of = |numbers: &[f32]| {
        let mut layer = TwoHeadLayer::<f64, TWO_HEAD_K>::ZERO;
        let to = layer.matrices_mut().flatten();
        to.zip(numbers).for_each(|(to, from)| *to = f64::from(*from));
        layer
    };
    run.parameters.chunks_exact(6 * TWO_HEAD_K * TWO_HEAD_K).map(of).collect()
}

fn target(asked: &Asked, w: &SVector<f64, D>) -> Target<D> {
    let mut target = Target::default();
    for (phi, weight) in &asked.states {
        target.add(phi, w.dot(phi), *weight);
    }
    target
}

fn ask(recipe: &Recipe, rng: &mut Rng) -> Result<Asked, ictd_core::Error> {
    let task = TaskDistribution::<f32, D>::draw(&AnyTasks::new(recipe), recipe.gamma as f32, rng)?;
    let wide = |phi: &SVector<f32, D>| phi.map(f64::from);
    let context = task.trajectory::<LENGTH>(recipe.context, rng)?;
    let context = context.iter().map(|t| Transition {
        phi: wide(&t.phi),
        reward: f64::from(t.reward),
        phi_next: wide(&t.phi_next),
    });
    let AnyTask::Finite(mrp) = &task else {
        let accepted = "a finite task";
        return Err(ictd_core::Error::OutOfRange { parameter: "task", accepted });
    };
    let often = mrp.stationary_distribution()?;
    let states = mrp.feature_map().iter().zip(often.iter()).take(mrp.states());
    let states = states.map(|(phi, often)| (wide(phi), f64::from(*often)));
    Ok(Asked { states: states.collect(), context: context.collect() })
}

/// The 95 % interval (Wilson's) of a share that so many of n have.
pub fn wilson(holding: usize, n: usize) -> [f64; 2] {
    const Z: f64 = 1.959_963_984_540_054;
    let n = n.max(1) as f64;
    let (share, z) = (holding as f64 / n, Z * Z / n);
    let centre = (share + z / 2.0) / (1.0 + z);
    let half = Z * (share * (1.0 - share) / n + z / (4.0 * n)).sqrt() / (1.0 + z);
    [centre - half, centre + half]
}

/// A seed whose parameters are these at its end.
#[cfg(test)]
pub(super) fn run_of(layer: &Layer<f64, K>) -> SeedRun {
    use crate::train::log::{Element, Matrices, Point};
    let matrix = |m: &nalgebra::SMatrix<f64, K, K>| {
        m.transpose().iter().map(|x| *x as f32).collect::<Vec<_>>()
    };
    let element = Element::default();
    let layers = vec![Matrices { p: matrix(&layer.p), q: matrix(&layer.q), element }];
    let [alpha, loss, vd, iws, ss, msve] = [0.0; 6];
    let point = Point { tasks: 1, alpha, loss, vd, iws, ss, msve, layers };
    let digest = String::new();
    SeedRun { seed: 0, digest, token_size: K, parameters: Vec::new(), points: vec![point] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;
    use ictd_core::constructions::{learning_rate, residual_gradient, td0};

    const CANDIDATES: [Candidate; 2] = [
        Candidate { name: "TD(0)", algorithm: Algorithm::Td0, gamma: 0.9 },
        Candidate { name: "residual gradient", algorithm: Algorithm::ResidualGradient, gamma: 0.9 },
    ];

    #[test]
    fn a_function_is_the_algorithm_that_it_was_made_from() {
        let recipe: Recipe = options::parsed("");
        let judge = Judge::new(&recipe, &CANDIDATES, 40, 1).unwrap();
        let c = learning_rate::<f64, D>(0.3);
        for (layer, which) in [(td0(&c), 0), (residual_gradient(&c), 1)] {
            let found = judge.explain(&run_of(&layer)).unwrap();
            assert!(found.is(which) && !found.is(1 - which), "{found:?}");
            assert!(found.outside < 1e-12 && found.lost < 1e-12);
        }
        let mut rng = Rng::new(3);
        let mut random = || nalgebra::SMatrix::from_fn(|_, _| 0.3 * rng.normal::<f64>());
        let found = judge.explain(&run_of(&Layer { p: random(), q: random() })).unwrap();
        assert!(!found.is(0) && !found.is(1) && found.outside > 0.5, "{found:?}");
        let found = judge.explain(&run_of(&Layer { p: random() * f64::NAN, q: random() })).unwrap();
        assert!(found.shares[0].is_nan() && !found.is(0));
    }

    #[test]
    fn two_heads_are_average_reward_td() {
        let recipe: Recipe = options::parsed("--heads 2");
        let candidates = [
            Candidate { name: "", algorithm: Algorithm::AverageReward, gamma: 1.0 },
            Candidate { name: "", algorithm: Algorithm::Td0, gamma: 0.9 },
        ];
        let judge = Judge::new(&recipe, &candidates, 40, 1).unwrap();
        let layer = ictd_core::constructions::average_reward(&learning_rate::<f64, D>(0.3));
        let layer: TwoHeadLayer<f64, TWO_HEAD_K> = layer;
        let parameters = layer.matrices().flatten().map(|x| *x as f32).collect();
        let empty = run_of(&Layer::ZERO);
        let found = judge.explain(&SeedRun { parameters, ..empty }).unwrap();
        assert!(found.is(0) && !found.is(1), "{found:?}");
        assert!(found.outside < 1e-12 && found.lost < 1e-12);
    }

    #[test]
    fn an_interval_of_a_share_is_wilsons() {
        let [low, high] = wilson(21, 30);
        assert!((low - 0.5212).abs() < 1e-4 && (high - 0.8334).abs() < 1e-4, "{low} {high}");
        assert!(wilson(0, 30)[0].abs() < 1e-15 && wilson(30, 30)[1] <= 1.0 + 1e-15);
    }
}
