use crate::linalg::arrays::{add, add_scaled, dot};
use crate::linalg::zeros;
use crate::scalar::Scalar;
use nalgebra::{SMatrix, SVector};

/// The parameters of one recurrent layer of H units that reads I numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RnnLayer<S: Scalar, const I: usize, const H: usize> {
    /// W_ax, (H, I).
    pub input: SMatrix<S, H, I>,
    /// W_aa, (H, H).
    pub recurrent: SMatrix<S, H, H>,
    /// b, (H).
    pub bias: SVector<S, H>,
}

impl<S: Scalar, const I: usize, const H: usize> RnnLayer<S, I, H> {
    pub(super) const ZERO: Self = RnnLayer { input: zeros(), recurrent: zeros(), bias: zeros() };

    /// W_ax, W_aa and b, column by column.
    pub(super) fn slices(&self) -> [&[S]; 3] {
        let RnnLayer { input, recurrent, bias } = self;
        [&input.data.0, &recurrent.data.0[..], &bias.data.0].map(<[_]>::as_flattened)
    }

    /// [`RnnLayer::slices`], to be changed.
    pub(super) fn slices_mut(&mut self) -> [&mut [S]; 3] {
        let RnnLayer { input, recurrent, bias } = self;
        [&mut input.data.0, &mut recurrent.data.0[..], &mut bias.data.0]
            .map(<[_]>::as_flattened_mut)
    }

    /// tanh(W_ax x + W_aa a + b).
    #[inline(always)]
    pub(super) fn forward(&self, x: &[S; I], a: &[S; H]) -> [S; H] {
        let mut sum = self.bias.data.0[0];
        add_product(&mut sum, &self.input.data.0, x);
        add_product(&mut sum, &self.recurrent.data.0, a);
        for x in &mut sum {
            *x = x.tanh();
        }
        sum
    }

    /// Back from g, the adjoint of what [`RnnLayer::forward`] applies tanh to: adds to the
    /// parameters' adjoints and to a's.
    #[inline(always)]
    pub(super) fn backward(
        &self,
        g: &[S; H],
        x: &[S; I],
        a: &[S; H],
        gradient: &mut Self,
        a_bar: &mut [S; H],
    ) {
        add_outer(&mut gradient.input.data.0, g, x);
        add_outer(&mut gradient.recurrent.data.0, g, a);
        add(&mut gradient.bias.data.0[0], g);
        add_transposed_product(a_bar, &self.recurrent.data.0, g);
    }
}

/// y += W x, in ascending order of x, W by columns.
#[inline(always)]
fn add_product<S: Scalar, const H: usize, const I: usize>(
    y: &mut [S; H],
    w: &[[S; H]; I],
    x: &[S; I],
) {
    for (column, x_j) in w.iter().zip(x) {
        add_scaled(y, *x_j, column);
    }
}

/// x-bar += W^T g, W by columns.
#[inline(always)]
pub(super) fn add_transposed_product<S: Scalar, const H: usize, const I: usize>(
    x_bar: &mut [S; I],
    w: &[[S; H]; I],
    g: &[S; H],
) {
    for (x, column) in x_bar.iter_mut().zip(w) {
        *x += dot(column, g);
    }
}

/// W-bar += g x^T, by columns.
#[inline(always)]
fn add_outer<S: Scalar, const H: usize, const I: usize>(
    w_bar: &mut [[S; H]; I],
    g: &[S; H],
    x: &[S; I],
) {
    for (column, x_j) in w_bar.iter_mut().zip(x) {
        add_scaled(column, *x_j, g);
    }
}
