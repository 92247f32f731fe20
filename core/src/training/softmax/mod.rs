//! Softmax attention in training: a forward pass is kept on a tape, so that it can be walked backwards; what a batch's windows
//! share is in `first_layer`.
//!
//! Forward, for each context column r (the scores are made and used one row at a time):
//!
//! ```text
//! k_r = Q_l^T z_r      v_r = (1/n) P_l z_r      A_rc = softmax over c of <k_r, z_c>, the query's column too
//! z_c(next) = z_c + sum_r A_rc v_r              TF_L = -z_q[K] after the last layer
//! ```
//!
//! Reverse, from the adjoints x-bar_c of the next layer's columns:
//!
//! ```text
//! A-bar_rc = <v_r, x-bar_c>      v-bar_r = sum_c A_rc x-bar_c      s-bar_rc = A_rc (A-bar_rc - <v_r, v-bar_r>)
//! k-bar_r  = sum_c s-bar_rc z_c  P-bar += (1/n) v-bar_r z_r^T      Q-bar += z_r k-bar_r^T
//! z-bar_c  = x-bar_c + sum_r s-bar_rc k_r                          z-bar_r += (1/n) P^T v-bar_r + Q k-bar_r
//! ```
//!
//! (<v_r, v-bar_r> is sum_c A_rc A-bar_rc.) Exponentials are powers of 2, of keys times log2 e, and a row's
//! normalisation goes into v_r, not into each exponential.
//!
//! A tape keeps, per layer, the columns, k_r, v_r, the exponentials and each row's normalisation:
//! n^2 + 3 K n numbers. (Recomputing the exponentials instead costs a sixth of the training's time.) In the last layer
//! only the query's column matters. Its adjoint is -1 in one entry times the seed: forward and reverse are
//! one pass there, linear in the seed, and the tape keeps nothing:
//!
//! ```text
//! u_r = (v_r)[K]      w_r = A_rq u_r      TF_L = -(z_q[K] + sum_r w_r)
//! s-bar_rc = A_rc w_r, less w_r in the query's column
//! ```

mod first_layer;
mod layers;
mod parameters;
mod scores;

use super::network::{BatchLoss, deviation};
use super::{Network, Parameters as _, Targets, Window, Windows, batch_gradient_by_window};
use crate::entrywise::Entrywise as _;
use crate::error::{Error, Result, ensure, out_of_range};
use crate::layer::{Layer, LayerParameters as _};
use crate::linalg::arrays::{add_scaled, scale, vector};
use crate::prompt::Prompt;
use crate::rng::Rng;
use crate::scalar::Scalar;
use crate::transformer::Transformer;
use first_layer::FirstLayer;
use layers::{LastLayer, LayerTape, backward_layer, forward_layer, last_layer};
use nalgebra::SVector;
pub use parameters::SoftmaxParameters;
use scores::PromptColumns;

/// A softmax transformer in training, on tokens of size K = 2 d + 1, or more with room for more features. C is the capacity
/// for stored layers, L for layers in the pass, N for context columns.
///
/// A batch needs a tape of the layers and the rows of the first, O(N^2 + K N) numbers each, on the stack.
#[derive(Clone, Debug, PartialEq)]
pub struct SoftmaxNetwork<S: Scalar, const K: usize, const C: usize, const L: usize, const N: usize>
{
    parameters: SoftmaxParameters<S, K, C>,
}

impl<S: Scalar, const K: usize, const C: usize, const L: usize, const N: usize>
    SoftmaxNetwork<S, K, C, L, N>
{
    /// Makes a network of a transformer whose numbers are the first parameters, or returns [`Error::CapacityExceeded`] if it
    /// is deeper than L.
    pub fn new(transformer: Transformer<Layer<S, K>, C>) -> Result<Self> {
        const {
            assert!(K > 1 && K % 2 == 1, "a discounted prompt has tokens of size K = 2 * D + 1");
        }
        ensure(transformer.depth() <= L, Error::capacity("layers", L))?;
        Ok(SoftmaxNetwork { parameters: SoftmaxParameters { transformer, dim: K / 2 } })
    }

    /// Returns the same network for `dim` features, whose other rows and columns must be 0.
    /// Returns [`Error::OutOfRange`] unless it has room for them, K / 2 features.
    pub fn with_dim(mut self, dim: usize) -> Result<Self> {
        let fits = (1..=K / 2).contains(&dim);
        ensure(fits, out_of_range("dim", "1 to what the network has room for"))?;
        self.parameters.dim = dim;
        Ok(self)
    }

    /// Makes `depth` layers of zeros: one pair (P, Q) that they share if `stored` is 1, or one for each.
    /// Returns [`Error::Empty`] for depth 0, [`Error::CapacityExceeded`] beyond C or L.
    pub fn zeros(stored: usize, depth: usize) -> Result<Self> {
        if stored == 1 {
            return Self::new(Transformer::autoregressive(Layer::ZERO, depth)?);
        }
        ensure(depth <= L, Error::capacity("layers", L))?;
        Self::new(Transformer::sequential(&[Layer::ZERO; L][..depth])?)
    }

    /// Returns L, the number of layers in the pass.
    pub fn depth(&self) -> usize {
        self.parameters.transformer.depth()
    }

    /// Returns the transformer that one lane has learned, or [`Error::NonFinite`] if its parameters blew up.
    pub fn transformer(&self, lane: usize) -> Result<Transformer<Layer<S::Element, K>, C>> {
        let mut layers = [Layer::ZERO; C];
        for (to, layer) in layers.iter_mut().zip(self.parameters.transformer.layers()) {
            *to = layer.lane(lane);
        }
        let stored = self.parameters.transformer.layers().len();
        Transformer::from_stored(layers, stored, self.depth())
    }

    /// Returns TF_L(Z_0) and its derivative with respect to the query's column, (K).
    /// Returns [`Error::Empty`] without context.
    pub fn value_and_query_gradient(&self, prompt: &Prompt<S, K, N>) -> Result<(S, SVector<S, K>)> {
        prompt.inverse_len()?;
        let (mut tape, layers) = (Tape::<S, K, L, N>::new(), self.parameters.transformer.layers());
        let z = tape.input(prompt.context_len(), self.depth());
        let z = z.ok_or(Error::capacity("layers", L))?;
        for (column, token) in z.context.iter_mut().zip(prompt.context()) {
            *column = token.data.0[0];
        }
        z.query = prompt.query.data.0[0];
        let value = tape.forward(layers, 0);
        let z_bar = tape.backward(layers, 0, S::ONE, &mut [Layer::ZERO; C]);
        Ok((value, vector(z_bar.query)))
    }

    /// Returns TF_L of a window and records it on the tape, or the errors of [`Network::check`].
    #[inline(always)]
    fn forward(&self, tape: &mut Tape<S, K, L, N>, window: &Window<S>) -> Result<S> {
        self.check(window)?;
        let n = window.context_len();
        let z = tape.input(n, self.depth()).ok_or(Error::capacity("layers", L))?;
        for (j, column) in z.context[..n].iter_mut().enumerate() {
            *column = window.column::<K>(j).data.0[0];
        }
        z.query = window.query_column::<K>().data.0[0];
        Ok(tape.forward(self.parameters.transformer.layers(), 0))
    }
}

impl<S: Scalar, const K: usize, const C: usize, const L: usize, const N: usize> Network<S>
    for SoftmaxNetwork<S, K, C, L, N>
{
    type Parameters = SoftmaxParameters<S, K, C>;
    const CONTEXT_CAPACITY: Option<usize> = Some(N);

    fn dim(&self) -> usize {
        self.parameters.dim
    }

    fn parameters(&self) -> &Self::Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Self::Parameters {
        &mut self.parameters
    }

    /// Draws the parameters in their stored order: Xavier normal with gain 0.1, and 0.1/L if each layer has
    /// its own, N(0, (gain sqrt(2 / (k + k)))^2), k = 2 d + 1.
    fn initialise_lane(&mut self, lane: usize, rng: &mut Rng) {
        let k = 2 * self.dim() + 1;
        let deviation =
            deviation::<S::Element>(0.1 / self.parameters.transformer.layers().len() as f64, k);
        for x in self.parameters.numbers_mut() {
            x.set_lane(lane, deviation * rng.normal::<S::Element>());
        }
    }

    fn value(&mut self, window: &Window<S>) -> Result<S> {
        self.forward(&mut Tape::new(), window)
    }

    fn value_and_gradient(
        &mut self,
        window: &Window<S>,
        adjoint: impl FnOnce(S) -> S,
        gradient: &mut Self::Parameters,
    ) -> Result<S> {
        let mut tape = Tape::new();
        let v = self.forward(&mut tape, window)?;
        tape.backward(
            self.parameters.transformer.layers(),
            0,
            adjoint(v),
            gradient.transformer.layers_mut(),
        );
        Ok(v)
    }

    /// Records windows that slide on one tape: they share the first layer's scores.
    fn batch_gradient(
        &mut self,
        windows: &Windows<S>,
        targets: Targets<S>,
        gradient: &mut Self::Parameters,
    ) -> Result<S> {
        if !windows.slide() {
            return batch_gradient_by_window(self, windows, targets, gradient);
        }
        self.check(windows)?;
        let n = windows.context_len();
        let (layers, depth) = (self.parameters.transformer.layers(), self.depth());
        let sum = gradient.transformer.layers_mut();
        let mut tape = Tape::<S, K, L, N>::new();
        let mut loss = BatchLoss::new(windows, targets);
        let mut first = FirstLayer::new();
        for t in loss.passes() {
            let valued = loss.pass(t);
            if depth == 1 {
                let v = self.forward(&mut tape, &valued.window)?;
                if let Some(v_bar) = loss.take(&valued, v) {
                    tape.backward(layers, 0, v_bar, sum);
                }
            } else {
                // The tape is of the layers after the first.
                let Some(second) = tape.input(n, depth - 1) else { continue };
                first_layer::forward(&mut first, windows, &layers[0], t, second);
                let v = tape.forward(layers, 1);
                if let Some(v_bar) = loss.take(&valued, v) {
                    let x_bar = tape.backward(layers, 1, v_bar, sum);
                    first_layer::backward(&mut first, windows, t, x_bar, &mut sum[0]);
                }
            }
        }
        Ok(loss.mean())
    }
}

/// Room for n <= N context columns and L layers.
#[derive(Clone, Debug, PartialEq)]
struct Tape<S: Scalar, const K: usize, const L: usize, const N: usize> {
    layers: [LayerTape<S, K, N>; L],
    n: usize,
    depth: usize,
    /// Adjoints of a layer's output and of its input, in turns.
    adjoint: [PromptColumns<S, K, N>; 2],
    last: LastLayer<S, K>,
}

impl<S: Scalar, const K: usize, const L: usize, const N: usize> Tape<S, K, L, N> {
    fn new() -> Self {
        Tape {
            layers: [const { LayerTape::ZEROS }; L],
            n: 0,
            depth: 0,
            adjoint: [PromptColumns::ZERO; 2],
            last: LastLayer::ZERO,
        }
    }

    /// Makes room for n context columns and `depth` layers, and returns Z_0 for the caller to fill in; `None` if they do not fit.
    #[inline(always)]
    fn input(&mut self, n: usize, depth: usize) -> Option<&mut PromptColumns<S, K, N>> {
        if n > N {
            return None;
        }
        (self.n, self.depth) = (n, depth);
        // The last layer keeps none.
        for layer in self.layers.get_mut(..depth)?.split_last_mut()?.1 {
            layer.exponentials.resize(n, [S::ZERO; N]).ok()?;
        }
        self.layers.first_mut().map(|layer| &mut layer.z)
    }

    /// Returns TF_L of the columns given to [`Self::input`]. The pass's layer l is `layers`' layer first + l
    /// modulo their number.
    fn forward(&mut self, layers: &[Layer<S, K>], first: usize) -> S {
        let (n, last) = (self.n, self.depth - 1);
        let inverse_len = S::ONE / S::from_count(n as u64);
        for l in 0..last {
            if let [tape, next] = &mut self.layers[l..l + 2] {
                let layer = &layers[(first + l) % layers.len()];
                forward_layer(tape, &mut next.z, layer, inverse_len, n);
            }
        }
        let Tape { layers: tapes, adjoint: [z_bar, _], last: pass, .. } = self;
        let (z, layer) = (&tapes[last].z, &layers[(first + last) % layers.len()]);
        last_layer(pass, z, z_bar, layer, inverse_len, n);
        -(z.query[K - 1] + pass.sum)
    }

    /// Walks back from TF_L-bar = `seed`, adding the adjoints of the layers given to
    /// [`Self::forward`] to `sums`. Returns those of Z_0.
    fn backward(
        &mut self,
        layers: &[Layer<S, K>],
        first: usize,
        seed: S,
        sums: &mut [Layer<S, K>],
    ) -> &PromptColumns<S, K, N> {
        let (n, last) = (self.n, self.depth - 1);
        let sum = &mut sums[(first + last) % layers.len()];
        let p_seed = seed / S::from_count(n as u64);
        for j in 0..K {
            sum.p.data.0[j][K - 1] += p_seed * self.last.p_bar[j];
            add_scaled(&mut sum.q.data.0[j], seed, &self.last.q_bar[j]);
        }
        let [mut x_bar, mut z_bar] = self.adjoint.each_mut();
        for column in x_bar.context[..n].iter_mut().chain([&mut x_bar.query]) {
            scale(column, seed);
        }
        for l in (0..last).rev() {
            let at = (first + l) % layers.len();
            backward_layer(&self.layers[l], x_bar, z_bar, &layers[at], &mut sums[at], n);
            core::mem::swap(&mut x_bar, &mut z_bar);
        }
        x_bar
    }
}
