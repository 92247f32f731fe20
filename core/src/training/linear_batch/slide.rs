//! From window t + 1 to window t: one token is gained, one is lost, and the first layer's G and A
//! change by rank two.
//!
//! ```text
//! G_t = G_{t+1} + x x^T - y y^T          A_t = P G_t Q = A_{t+1} + (P x) (Q^T x)^T - (P y) (Q^T y)^T
//! ```
//!
//! What they pass back, P-bar = sum_t A-bar_t Q^T G_t and Q-bar = sum_t G_t P^T A-bar_t, follows by
//! Abel summation with C_s = sum_{t >= s} A-bar_t, in just that order of time:
//!
//! ```text
//! P-bar = C_0 Q^T G_0 - sum_s C_{s+1} Q^T (G_s - G_{s+1})      (Q-bar likewise)
//! ```

use super::{BatchLayer, LayerSum, Step};
use crate::linalg::padded::{
    Columns, Onto, TwoSided, add_outers, mul_onto, mul_transpose_onto, mul_vector, scaled,
};
use crate::scalar::Scalar;
use crate::training::Windows;

/// The first layer on windows that slide, if it is formed; only its G otherwise.
pub(super) struct Slide<S: Scalar, const R: usize, const K: usize> {
    formed: bool,
    /// C.
    c: TwoSided<S, R, K>,
}

impl<S: Scalar, const R: usize, const K: usize> Slide<S, R, K> {
    /// At window W: its G, and A if the layer is formed.
    #[inline(always)]
    pub(super) fn start<const D: usize>(
        windows: &Windows<S, D>,
        formed: bool,
        layer: &BatchLayer<S, R, K>,
        step: &mut Step<S, R, K>,
        scratch: &mut Columns<S, R, K>,
    ) -> Self {
        for j in windows.count()..windows.count() + windows.context_len() {
            let z = windows.token(j);
            add_outers(&mut step.g, [(&z, &z)]);
        }
        if formed {
            step.form(layer, scratch);
        }
        Slide { formed, c: TwoSided::zeros() }
    }

    /// From window t + 1 to window t, with the terms of the sum over s = t.
    #[inline(always)]
    pub(super) fn slide<const D: usize>(
        &self,
        windows: &Windows<S, D>,
        t: usize,
        layer: &BatchLayer<S, R, K>,
        step: &mut Step<S, R, K>,
        sum: &mut LayerSum<S, R, K>,
    ) {
        let (x, y) = (windows.token(t), windows.token(t + windows.context_len()));
        let minus_y = scaled(-S::ONE, &y);
        add_outers(&mut step.g, [(&x, &x), (&minus_y, &y)]);
        if !self.formed {
            return;
        }
        let (p_x, minus_p_y) = (mul_vector(&layer.p.m, &x), mul_vector(&layer.p.m, &minus_y));
        let (q_x, q_y) = (layer.q.transpose_mul_vector(&x), layer.q.transpose_mul_vector(&y));
        add_outers(&mut step.a, [(&p_x, &q_x), (&minus_p_y, &q_y)]);
        if t + 1 == windows.count() {
            // C is 0 yet.
            return;
        }
        let minus_c_q_x = mul_vector(&self.c.m, &scaled(-S::ONE, &q_x));
        let c_q_y = mul_vector(&self.c.m, &q_y);
        let c_p_x = self.c.transpose_mul_vector(&p_x);
        let minus_c_p_y = self.c.transpose_mul_vector(&minus_p_y);
        let minus_x = scaled(-S::ONE, &x);
        add_outers(&mut sum.p, [(&minus_c_q_x, &x), (&c_q_y, &y)]);
        add_outers(&mut sum.q, [(&minus_x, &c_p_x), (&minus_y, &minus_c_p_y)]);
    }

    /// C += A-bar of a window, from H and z-bar of the second layer.
    #[inline(always)]
    pub(super) fn backward(&mut self, step: &Step<S, R, K>, h: &Columns<S, R, K>, z_bar: &[S; R]) {
        step.a_bar(&mut self.c.m, Onto::Itself, h, z_bar);
        self.c.update();
    }

    /// The sum's first term, at window 0.
    #[inline(always)]
    pub(super) fn finish(
        &self,
        step: &Step<S, R, K>,
        layer: &BatchLayer<S, R, K>,
        sum: &mut LayerSum<S, R, K>,
        [g_q, p_c]: &mut [Columns<S, R, K>; 2],
    ) {
        if !self.formed {
            return;
        }
        mul_onto(g_q, Onto::Zeros, &step.g, &layer.q.m);
        layer.p.transpose_mul(p_c, &self.c.m);
        mul_transpose_onto(&mut sum.p, Onto::Itself, &self.c.m, g_q);
        mul_onto(&mut sum.q, Onto::Itself, &step.g, p_c);
    }
}
