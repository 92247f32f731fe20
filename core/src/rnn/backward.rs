use super::layer::add_transposed_product;
use super::{LayerInput, Rnn, step};
use crate::error::Error;
use crate::linalg::keep_apart;
use crate::scalar::{Scalar, kernel};

/// A forward pass over a prompt, kept for the backward pass through time: the hidden states after
/// each token, O(n L h). N is the capacity for context tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct RnnTape<S: Scalar, const X: usize, const H: usize, const L: usize, const N: usize> {
    tokens: [[S; X]; N],
    query: [S; X],
    /// The hidden states after context token t.
    after: [[[S; H]; L]; N],
    /// And after the query.
    last: [[S; H]; L],
    n: usize,
}

impl<S: Scalar, const X: usize, const H: usize, const L: usize, const N: usize>
    RnnTape<S, X, H, L, N>
{
    /// Room for a forward pass.
    pub fn new() -> Self {
        RnnTape {
            tokens: [[S::ZERO; X]; N],
            query: [S::ZERO; X],
            after: [[[S::ZERO; H]; L]; N],
            last: [[S::ZERO; H]; L],
            n: 0,
        }
    }

    /// v of a prompt: its context tokens in order of time, then the query.
    ///
    /// # Errors
    /// [`Error::CapacityExceeded`] beyond N context tokens.
    pub fn forward(
        &mut self,
        rnn: &Rnn<S, X, H, L>,
        context: impl IntoIterator<Item = [S; X]>,
        query: [S; X],
    ) -> Result<S, Error> {
        let start = [[S::ZERO; H]; L];
        self.n = 0;
        for token in context {
            if self.n == N {
                return Err(Error::CapacityExceeded { parameter: "context", capacity: N });
            }
            self.tokens[self.n] = token;
            let (before, after) = self.after.split_at_mut(self.n);
            let before = before.last().unwrap_or(&start);
            step(rnn, before, &self.tokens[self.n], &mut after[0]);
            self.n += 1;
        }
        self.query = query;
        let before = self.after[..self.n].last().unwrap_or(&start);
        step(rnn, before, &self.query, &mut self.last);
        Ok(rnn.output(&self.last))
    }

    /// Returns the hidden states after the last token, one per layer.
    pub fn final_hidden(&self) -> &[[S; H]; L] {
        &self.last
    }

    /// Backward through time from v-bar = `seed`: adds `seed` dv/dtheta to `gradient`, and shows, for each token t from
    /// the last to the first, the adjoint g of layer 0's pre-activation: that of the token is W_ax^T g.
    pub fn backward(
        &self,
        rnn: &Rnn<S, X, H, L>,
        seed: S,
        gradient: &mut Rnn<S, X, H, L>,
        mut observe_first_layer: impl FnMut(usize, &[S; H]),
    ) {
        // Adjoints of the hidden states after token t.
        let mut a_bar = [[S::ZERO; H]; L];
        for i in 0..H {
            a_bar[L - 1][i] = seed * rnn.output[i];
            gradient.output[i] += seed * self.last[L - 1][i];
        }
        let none = [[S::ZERO; H]; L];
        for t in (0..=self.n).rev() {
            let before = if t == 0 { &none } else { &self.after[t - 1] };
            let (after, token) = if t == self.n {
                (&self.last, &self.query)
            } else {
                (&self.after[t], &self.tokens[t])
            };
            observe_first_layer(t, &token_back(rnn, gradient, &mut a_bar, before, after, token));
        }
    }
}

kernel! {
    /// One token back: turns the adjoints of the hidden states after it into those before it, adds to
    /// `gradient`, and gives the adjoint of layer 0's pre-activation.
    fn token_back as TokenBack<'a, S: Scalar, const X: usize, const H: usize, const L: usize>(
        rnn: &'a Rnn<S, X, H, L>,
        gradient: &'a mut Rnn<S, X, H, L>,
        a_bar: &'a mut [[S; H]; L],
        before: &'a [[S; H]; L],
        after: &'a [[S; H]; L],
        token: &'a [S; X],
    ) -> [S; H] {
        let mut before_bar = [[S::ZERO; H]; L];
        for (l, (layer, gradient)) in (1..L).zip(rnn.upper.iter().zip(&mut gradient.upper)).rev() {
            let g = through_tanh(&a_bar[l], &after[l]);
            let (below, below_bar) = match rnn.layer_input {
                LayerInput::Current => (&after[l - 1], &mut a_bar[l - 1]),
                LayerInput::Delayed => (&before[l - 1], &mut before_bar[l - 1]),
            };
            add_transposed_product(below_bar, &layer.input.data.0, &g);
            layer.backward(&g, below, &before[l], gradient, &mut before_bar[l]);
        }
        let g = through_tanh(&a_bar[0], &after[0]);
        rnn.first.backward(&g, token, &before[0], &mut gradient.first, &mut before_bar[0]);
        *a_bar = before_bar;
        g
    }
}

/// Returns the adjoint of x from that of a = tanh(x): tanh' = 1 - tanh^2.
#[inline(always)]
fn through_tanh<S: Scalar, const H: usize>(a_bar: &[S; H], a: &[S; H]) -> [S; H] {
    let mut g = *a_bar;
    for i in 0..H {
        keep_apart::<S>();
        g[i] *= S::ONE - a[i] * a[i];
    }
    g
}

impl<S: Scalar, const X: usize, const H: usize, const L: usize, const N: usize> Default
    for RnnTape<S, X, H, L, N>
{
    fn default() -> Self {
        Self::new()
    }
}
