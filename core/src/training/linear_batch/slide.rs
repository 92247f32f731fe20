//! From window t + 1 to window t: one token is gained, one is lost, and the first layer's G and A
//! change by rank two.
//!
//! ```text
//! G_t = G_{t+1} + x x'^T - y y'^T        A_t = P G_t Q = A_{t+1} + (P x) (Q^T x')^T - (P y) (Q^T y')^T
//! ```
//!
//! ([`gained_and_lost`]; the update rounds, and a batch is short.) What G and A pass back, P-bar = sum_t A-bar_t Q^T G_t^T and Q-bar = sum_t G_t^T P^T A-bar_t, follows by
//! Abel summation with C_s = sum_{t >= s} A-bar_t, in just that order of time:
//!
//! ```text
//! P-bar = C_0 Q^T G_0^T - sum_s C_{s+1} Q^T (G_s - G_{s+1})^T     (Q-bar likewise)
//! ```

use super::formed::Step;
use crate::linalg::padded::{Onto, TwoSided, add_outers, mul, mul_transpose, scaled};
use crate::scalar::Scalar;
use crate::training::read::{VECTORS, read};
use crate::training::sides::{gained_and_lost, next_token};
use crate::training::work::{BatchLayer, LayerSum, Shape, products, split};
use crate::training::{Window, Windows};

/// The first layer on windows that slide, if it is formed and they share its G; only G otherwise.
pub(super) struct Slide<'a, S> {
    shape: Shape<S>,
    formed: bool,
    /// C.
    c: &'a mut [S],
    /// True while C is 0.
    empty: bool,
    vectors: &'a mut [S],
}

impl<'a, S: Scalar> Slide<'a, S> {
    /// Matrices that it takes.
    pub(super) const MATRICES: usize = TwoSided::<S>::MATRICES;
    /// Vectors that it takes.
    pub(super) const VECTORS: usize = 14;

    /// At window W: its G, and A if the layer is formed.
    #[inline(always)]
    pub(super) fn start<const D: usize>(
        shape: Shape<S>,
        windows: &Windows<S, D>,
        formed: bool,
        layer: &BatchLayer<S>,
        step: &mut Step<S>,
        c: &'a mut [S],
        vectors: &'a mut [S],
        scratch: &mut [S],
    ) -> Self {
        let size = shape.size;
        step.g.fill(S::ZERO);
        vectors.fill(S::ZERO);
        c.fill(S::ZERO);
        let [z, e] = split(vectors, size.rows);
        let start = windows.count();
        let end = if shape.prior_count.is_none() { start + windows.context_len() } else { start };
        for i in start..end {
            let [z, right] = next_token(windows, start, i, shape.lambda, [&mut *z, &mut *e]);
            add_outers(size, step.g, [(z, right)]);
        }
        step.update(size);
        if formed {
            step.form(size, layer, scratch);
        }
        Slide { shape, formed, c, empty: true, vectors }
    }

    /// G and z of a window that shares nothing with its neighbour.
    #[inline(always)]
    pub(super) fn read<const D: usize>(
        &mut self,
        window: &Window<S, D>,
        step: &mut Step<S>,
        f: &mut [S],
    ) {
        let vectors = &mut self.vectors[..VECTORS * self.shape.size.rows];
        read(&self.shape, window, step.g, step.z, [f, vectors]);
        step.update(self.shape.size);
    }

    /// From window t + 1 to window t, with the terms of the sum over s = t.
    #[inline(always)]
    pub(super) fn slide<const D: usize>(
        &mut self,
        windows: &Windows<S, D>,
        t: usize,
        layer: &BatchLayer<S>,
        step: &mut Step<S>,
        sum: LayerSum<S>,
    ) {
        let Slide { shape: Shape { size, lambda, .. }, c, empty, vectors, .. } = self;
        let size = *size;
        let [x, y, trace_x, trace_y, rest @ ..] = split::<14, S>(vectors, size.rows);
        let [minus_x, minus_y, p_x, minus_p_y, q_x, q_y, c_q_x, c_q_y, c_p_x, c_p_y] = rest;
        let room = [x, y, trace_x, trace_y];
        let [[x, right_x], [y, right_y]] = gained_and_lost(windows, t, *lambda, room, minus_x);
        scaled(minus_y, -S::ONE, y);
        add_outers(size, step.g, [(x, right_x), (&*minus_y, right_y)]);
        step.update(size);
        if !self.formed {
            return;
        }
        products(size, [&mut *p_x, &mut *minus_p_y], layer.p.m, [x, minus_y]);
        layer.q.transpose_mul_vectors(size, [&mut *q_x, &mut *q_y], [right_x, right_y]);
        add_outers(size, step.a, [(&*p_x, &*q_x), (&*minus_p_y, &*q_y)]);
        if *empty {
            return;
        }
        let c = TwoSided::within(size, c);
        scaled(minus_x, -S::ONE, q_x);
        products(size, [&mut *c_q_x, &mut *c_q_y], c.m, [minus_x, q_y]);
        c.transpose_mul_vectors(size, [&mut *c_p_x, &mut *c_p_y], [p_x, minus_p_y]);
        add_outers(size, sum.p, [(&*c_q_x, x), (&*c_q_y, y)]);
        scaled(minus_x, -S::ONE, right_x);
        scaled(minus_y, -S::ONE, right_y);
        add_outers(size, sum.q, [(&*minus_x, &*c_p_x), (&*minus_y, &*c_p_y)]);
    }

    /// C += A-bar of a window, from H and z-bar of the second layer.
    #[inline(always)]
    pub(super) fn backward(&mut self, step: &Step<S>, h: &[S], z_bar: &[S], scratch: &mut [S]) {
        let size = self.shape.size;
        step.a_bar(size, self.c, Onto::Itself, h, z_bar, scratch);
        TwoSided::update(size, self.c);
        self.empty = false;
    }

    /// The sum's first term, at window 0.
    #[inline(always)]
    pub(super) fn finish(
        &self,
        step: &Step<S>,
        layer: &BatchLayer<S>,
        sum: LayerSum<S>,
        [g_q, p_c, ..]: &mut [&mut [S]; 4],
    ) {
        if !self.formed {
            return;
        }
        let size = self.shape.size;
        let c = &self.c[..size.matrix()];
        mul(size, g_q, Onto::Zeros, step.g, layer.q.m);
        layer.p.transpose_mul(size, p_c, Onto::Zeros, c);
        mul_transpose(size, sum.p, Onto::Itself, c, g_q);
        mul(size, sum.q, Onto::Itself, step.g_t(), p_c);
    }
}
