mod first_layer;

use super::network::BatchLoss;
use super::{Network, Targets, TransformerNetwork, Window, Windows};
use crate::gradient::softmax::Tape;
use crate::layer::Layer;
use crate::rng::Rng;
use crate::scalar::Scalar;
use crate::transformer::Transformer;
use first_layer::FirstLayer;

/// Softmax attention over at most N context columns, as a kind of [`TransformerNetwork`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Softmax<const N: usize>;

/// A softmax transformer in training. C is the capacity for stored layers, L for layers in the pass, N
/// for context columns.
///
/// A batch needs a tape of the layers and the rows of the first, O(N^2 + K N) numbers each, on the stack:
/// [`BATCH_BYTES`](TransformerNetwork::BATCH_BYTES).
pub type SoftmaxNetwork<
    S,
    const D: usize,
    const K: usize,
    const C: usize,
    const L: usize,
    const N: usize,
> = TransformerNetwork<Softmax<N>, S, D, K, C, L>;

impl<S: Scalar, const D: usize, const K: usize, const C: usize, const L: usize, const N: usize>
    SoftmaxNetwork<S, D, K, C, L, N>
{
    /// What a batch takes on the stack beside a few matrices, in bytes.
    pub const BATCH_BYTES: usize = size_of::<Tape<S, K, L, N>>() + size_of::<FirstLayer<S, K, N>>();

    /// TF_L of a window, left on the tape; none if the window has more than N context columns.
    #[inline(always)]
    fn forward(&self, tape: &mut Tape<S, K, L, N>, window: &Window<S, D>) -> Option<S> {
        let n = window.context_len();
        debug_assert!(n <= N, "{n} context columns on a tape for {N}");
        let z = tape.input(n, self.transformer.depth()).ok()?;
        for (j, column) in z.context[..n].iter_mut().enumerate() {
            *column = window.token::<K>(j).data.0[0];
        }
        z.query = window.query_token::<K>().data.0[0];
        Some(tape.forward::<false>(self.transformer.layers(), 0))
    }
}

impl<S: Scalar, const D: usize, const K: usize, const C: usize, const L: usize, const N: usize>
    Network<S, D> for SoftmaxNetwork<S, D, K, C, L, N>
{
    type Parameters = Transformer<Layer<S, K>, C>;

    fn parameters(&self) -> &Self::Parameters {
        &self.transformer
    }

    fn parameters_mut(&mut self) -> &mut Self::Parameters {
        &mut self.transformer
    }

    fn context_capacity(&self) -> Option<usize> {
        Some(N)
    }

    /// Xavier normal with gain 0.1, and 0.1/L if sequential.
    fn initialise_lane(&mut self, lane: usize, rng: &mut Rng) {
        self.initialise(lane, rng);
    }

    /// NaN for a window of more than N context columns, of which nothing can be learned.
    fn value(&mut self, window: &Window<S, D>) -> S {
        self.forward(&mut Tape::new(), window).unwrap_or(S::from_f64(f64::NAN))
    }

    fn value_and_gradient(
        &mut self,
        window: &Window<S, D>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut Self::Parameters,
    ) -> S {
        let mut tape = Tape::new();
        let Some(v) = self.forward(&mut tape, window) else { return S::from_f64(f64::NAN) };
        tape.backward::<false>(self.transformer.layers(), 0, adjoint(v), gradient.layers_mut());
        v
    }

    /// On one tape. The windows share the first layer's scores.
    fn sliding_batch_gradient(
        &mut self,
        windows: &Windows<S, D>,
        targets: Targets<S>,
        gradient: &mut Self::Parameters,
    ) -> S {
        let n = windows.context_len();
        debug_assert!(n <= N, "{n} context columns on a tape for {N}");
        if n > N {
            return S::from_f64(f64::NAN);
        }
        let (layers, depth) = (self.transformer.layers(), self.transformer.depth());
        let sum = gradient.layers_mut();
        let mut tape = Tape::<S, K, L, N>::new();
        let mut loss = BatchLoss::new(windows, targets);
        if depth == 1 {
            for t in loss.times() {
                let Some(v) = self.forward(&mut tape, &windows.window(t)) else { continue };
                if let Some(v_bar) = loss.take(t, v) {
                    tape.backward::<false>(layers, 0, v_bar, sum);
                }
            }
        } else {
            // The tape is of the layers after the first.
            let mut first = FirstLayer::new();
            for t in loss.times() {
                let Ok(second) = tape.input(n, depth - 1) else { continue };
                first.forward(windows, &layers[0], t, second);
                let v = tape.forward::<true>(layers, 1);
                if let Some(v_bar) = loss.take(t, v) {
                    let x_bar = tape.backward::<true>(layers, 1, v_bar, sum);
                    first.backward(windows, t, x_bar, &mut sum[0]);
                }
            }
        }
        loss.mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Lanes8;
    use crate::tasks::{CartPoleTasks, FiniteTask, FiniteTasks};
    use crate::training::{MultiTaskTd, Parameters, Settings, batch_gradient_by_window};
    use nalgebra::SVector;

    type Network3<S> = SoftmaxNetwork<S, 2, 5, 3, 3, 6>;

    fn windows_of(rng: &mut Rng) -> ([SVector<f64, 2>; 13], [f64; 12]) {
        let features = core::array::from_fn(|_| SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0)));
        (features, core::array::from_fn(|_| rng.uniform_in(-1.0, 1.0)))
    }

    #[test]
    fn a_batch_is_its_windows_one_by_one() {
        let mut rng = Rng::new(1);
        let (features, rewards) = windows_of(&mut rng);
        let given = [0.5, -1.0, 0.25, 0.0, 2.0, 1.0, -0.5, 0.75, 1.5, 0.1];
        // Contexts shorter and longer than the batch, in and beyond whole tiles of rows.
        for (n, depth, stored) in [(5, 3, 1), (1, 3, 1), (6, 2, 2), (4, 1, 1), (3, 3, 3), (6, 3, 1)]
        {
            let windows = Windows::new(&features, &rewards, n, 0.9).unwrap();
            let zeros = Network3::<f64>::autoregressive(depth);
            let mut network =
                if stored == 1 { zeros } else { Network3::<f64>::sequential(depth) }.unwrap();
            network.initialise_lane(0, &mut rng);
            network.parameters_mut().numbers_mut().for_each(|x| *x *= 20.0 * stored as f64);
            for targets in [Targets::Bootstrapped, Targets::Given(&given)] {
                let mut together = network.parameters().zeros_like();
                let mut one_by_one = together.clone();
                let loss = network.batch_gradient(&windows, targets, &mut together);
                let want =
                    batch_gradient_by_window(&mut network, &windows, targets, &mut one_by_one);
                assert!((loss - want).abs() < 1e-13 * want, "{n} {depth} {stored}");
                for (a, b) in together.numbers().zip(one_by_one.numbers()) {
                    assert!((a - b).abs() < 1e-12, "{n} {depth} {stored}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn a_network_that_blows_up_stays_finite() {
        let mut rng = Rng::new(3);
        let (features, rewards) = windows_of(&mut rng);
        let (features, rewards) =
            (features.map(|phi| phi.map(|x| x as f32)), rewards.map(|r| r as f32));
        let windows = Windows::new(&features, &rewards, 5, 0.9).unwrap();
        let mut network = Network3::<f32>::autoregressive(3).unwrap();
        // Scores in the tens, where each window is still itself; then in the thousands, where all but one
        // exponential of a row are at the lower end.
        for (size, same) in [(30.0, true), (3000.0, false)] {
            for (m, size) in network.parameters_mut().slices_mut().zip([0.1, size]) {
                m.fill_with(|| size * rng.uniform_in(-1.0, 1.0));
            }
            let mut together = network.parameters().zeros_like();
            let mut one_by_one = together.clone();
            let targets = Targets::Bootstrapped;
            let loss = network.batch_gradient(&windows, targets, &mut together);
            let want = batch_gradient_by_window(&mut network, &windows, targets, &mut one_by_one);
            assert!(loss.is_finite() && together.numbers().all(|g| g.is_finite()));
            assert!(!same || (loss - want).abs() < 1e-5 * want, "{loss} {want}");
        }
    }

    #[test]
    fn a_lane_is_its_seed_trained_alone() {
        type Trainer<S> = MultiTaskTd<S, Network3<S>, FiniteTasks<5>, 2, 14>;
        let settings = Settings { context_len: 6, windows: 6, batches: 2, ..Default::default() };
        let tasks = FiniteTasks { kind: FiniteTask::BoyanChain, states: 5 };
        let network = Network3::autoregressive(3).unwrap();
        let seeds = [1, 2, 3, 4, 5, 6, 7, 8];
        let mut wide = Trainer::<Lanes8>::new(settings, tasks, network, &seeds).unwrap();
        (0..5).for_each(|_| wide.train_task().unwrap());
        let network = Network3::autoregressive(3).unwrap();
        let mut alone = Trainer::<f32>::new(settings, tasks, network, &seeds[4..5]).unwrap();
        (0..5).for_each(|_| alone.train_task().unwrap());
        let (a, b) = (wide.network().transformer(4), alone.network().transformer(0));
        assert_eq!(a.unwrap(), b.unwrap());
    }

    #[test]
    fn cart_pole_is_a_task_distribution() {
        type Trainer = MultiTaskTd<f32, Network3<f32>, CartPoleTasks<324>, 2, 14>;
        let settings = Settings { context_len: 6, windows: 6, batches: 1, ..Default::default() };
        for tasks in
            [CartPoleTasks::Tilings { tilings: 4, tiles: 2 }, CartPoleTasks::SingleGrid { bins: 2 }]
        {
            let network = Network3::autoregressive(3).unwrap();
            let mut trainer = Trainer::new(settings, tasks, network, &[7]).unwrap();
            trainer.train_task().unwrap();
            assert!(trainer.loss() > 0.0 && trainer.loss().is_finite());
        }
        let too_fine = CartPoleTasks::SingleGrid { bins: 5 };
        let network = Network3::autoregressive(3).unwrap();
        assert!(Trainer::new(settings, too_fine, network, &[7]).is_err());
    }
}
