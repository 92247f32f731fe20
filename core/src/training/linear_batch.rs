//! The loss and gradient of a batch of windows for linear attention: what the trainer spends its
//! time on.
//!
//! The same numbers as [`batch_gradient_by_window`](super::batch_gradient_by_window) up to rounding
//! (the reference that it is tested against), with less work:
//!
//! 1. The windows are walked in reverse time, so v_{t+1} is known when window t is reached and
//!    forward and backward fuse: one window's tape suffices.
//! 2. Neighbouring windows differ by one token gained and one lost: G_0 and A_0 = (1/n) P G_0 Q
//!    change by rank two. What A_0 passes back to P and Q,
//!    sum_t A-bar_t Q^T G_t and sum_t G_t P^T A-bar_t, follows by Abel summation with
//!    C_s = sum_{t >= s} A-bar_t, in just that order:
//!    sum_t A-bar_t Q^T G_t = C_0 Q^T G_0 - sum_s C_{s+1} Q^T (G_s - G_{s+1}).
//! 3. The last two layers, a and b, act on vectors only. With p = P_b^T e_K, G and z those of layer
//!    a, and B_a = I + (1/n) P_a G Q_a:
//!    TF_L = -(z_b\[K\] + (1/n) (B_a^T p)^T G (B_a^T Q_b z_b)), z_b = B_a z.
//! 4. G is symmetric: G' = V + V A^T with V = G + A G is needed in its upper triangle only.
//! 5. 1/n is folded into P once a batch, and what depends on the parameters alone is computed once;
//!    its adjoint is finished after the last window.

use super::{AttentionParameters, Targets, Window, Windows};
use crate::linalg::padded::{
    Columns, Dim, Onto, TwoSided, add, add_mul_vector, add_outers, dot, mirror, mul_onto,
    mul_transpose_onto, mul_vector, scaled, symmetric_outers, zeros,
};
use crate::scalar::{Scalar, kernel};

/// What a batch needs of one stored layer: (1/n) P and Q.
#[derive(Clone, Copy)]
struct BatchLayer<S: Scalar, const R: usize, const K: usize> {
    p: TwoSided<S, R, K>,
    q: TwoSided<S, R, K>,
}

/// Gradients of one stored layer: with respect to (1/n) P and Q.
#[derive(Clone, Copy)]
struct LayerSum<S: Scalar, const R: usize, const K: usize> {
    p: Columns<S, R, K>,
    q: Columns<S, R, K>,
}

/// The tape of a layer that is formed as a matrix: G_l, A_l, V_l = G_l + A_l G_l, z_l.
#[derive(Clone, Copy)]
struct Step<S: Scalar, const R: usize, const K: usize> {
    g: Columns<S, R, K>,
    a: Columns<S, R, K>,
    v: Columns<S, R, K>,
    z: [S; R],
}

kernel! {
    /// The loss of a batch, and gradient += its gradient; `depth` <= L. R >= K.
    pub(super) fn batch_gradient as BatchGradient<
        'a,
        S: Scalar,
        const D: usize,
        const K: usize,
        const C: usize,
        const L: usize,
        const R: usize,
    >(
        parameters: &'a AttentionParameters<S, K, C>,
        depth: usize,
        windows: &'a Windows<'a, S, D>,
        targets: Targets<'a, S>,
        gradient: &'a mut AttentionParameters<S, K, C>,
    ) -> S {
        let dim = Dim::new::<S, K>();
        let depth = depth.clamp(1, L);
        let stored = parameters.stored().clamp(1, C);
        let count = windows.count();
        let n = windows.context_len();
        let inverse_len = S::ONE / S::from_count(n as u64);
        let layers = batch_layers::<S, K, C, R>(parameters, inverse_len);
        let mut sums = [LayerSum { p: zeros::<S, R, K>(), q: zeros::<S, R, K>() }; C];

        // The stored indices of the last two layers, and how many come before them.
        let (last, second, formed) =
            ((depth - 1) % stored, depth.saturating_sub(2) % stored, depth.saturating_sub(2));
        let first = &layers[0];
        // p = (1/n) P_b^T e_K, and (1/n) P_a^T p, with their adjoints.
        let mut e_k = [S::ZERO; R];
        e_k[K - 1] = S::ONE;
        let p_row = layers[last].p.transpose_mul_vector(dim, &e_k);
        let p_p_row = layers[second].p.transpose_mul_vector(dim, &p_row);
        let mut p_row_bar = [S::ZERO; R];
        let mut p_p_row_bar = [S::ZERO; R];

        // The step after the last one formed holds the G and z of layer a.
        let mut tape = [Step { g: zeros(), a: zeros(), v: zeros(), z: [S::ZERO; R] }; L];
        for j in count..count + n {
            let z = windows.token(j);
            add_outers(dim, &mut tape[0].g, [(&z, &z)]);
        }
        if formed > 0 {
            let mut g_q = zeros();
            mul_onto(dim, &mut g_q, Onto::Zeros, &tape[0].g, &first.q.m);
            mul_onto(dim, &mut tape[0].a, Onto::Zeros, &first.p.m, &g_q);
        }
        // C of the Abel summation.
        let mut c_sum = TwoSided::<S, R, K>::zeros();
        let mut h = zeros::<S, R, K>();
        let mut scratch = [zeros::<S, R, K>(); 2];

        let inverse_count = S::ONE / S::from_count(count as u64);
        let minus_two = -(inverse_count + inverse_count);
        let mut v_next = S::ZERO;
        let mut loss = S::ZERO;
        for t in (0..=count).rev() {
            if t < count {
                let (new, old) = (windows.token(t), windows.token(t + n));
                let minus_old = scaled(-S::ONE, &old);
                add_outers(dim, &mut tape[0].g, [(&new, &new), (&minus_old, &old)]);
                if formed > 0 {
                    let p_new = mul_vector(dim, &first.p.m, &new);
                    let p_old = mul_vector(dim, &first.p.m, &minus_old);
                    let q_new = first.q.transpose_mul_vector(dim, &new);
                    let q_old = first.q.transpose_mul_vector(dim, &old);
                    add_outers(dim, &mut tape[0].a, [(&p_new, &q_new), (&p_old, &q_old)]);
                    if t + 1 < count {
                        let minus_q_new = scaled(-S::ONE, &q_new);
                        let c_q_new = mul_vector(dim, &c_sum.m, &minus_q_new);
                        let c_q_old = mul_vector(dim, &c_sum.m, &q_old);
                        let c_p_new = c_sum.transpose_mul_vector(dim, &p_new);
                        let c_p_old = c_sum.transpose_mul_vector(dim, &p_old);
                        let minus_new = scaled(-S::ONE, &new);
                        add_outers(dim, &mut sums[0].p, [(&c_q_new, &new), (&c_q_old, &old)]);
                        // p_old has the sign of the lost token.
                        add_outers(
                            dim,
                            &mut sums[0].q,
                            [(&minus_new, &c_p_new), (&minus_old, &c_p_old)],
                        );
                    }
                }
            }

            // Forward through the layers that are formed.
            tape[0].z = query::<S, D, R>(&windows.window(t));
            for l in 0..formed.min(L - 1) {
                let (before, after) = tape.split_at_mut(l + 1);
                let (step, next) = (&mut before[l], &mut after[0]);
                if l > 0 {
                    let layer = &layers[l % stored];
                    let [g_q, _] = &mut scratch;
                    mul_onto(dim, g_q, Onto::Zeros, &step.g, &layer.q.m);
                    mul_onto(dim, &mut step.a, Onto::Zeros, &layer.p.m, g_q);
                }
                mul_onto(dim, &mut step.v, Onto::Matrix(&step.g), &step.a, &step.g);
                let v = Onto::Matrix(&step.v);
                mul_transpose_onto(dim, &mut next.g, v, &step.v, &step.a, true);
                mirror(&mut next.g);
                next.z = add_mul_vector(dim, &step.z, &step.a, &step.z);
            }

            // The last two layers, or the only one.
            let Step { g, z, .. } = &tape[formed.min(L - 1)];
            let (layer_a, layer_b) = (&layers[second], &layers[last]);
            let two = depth > 1;
            let g_p = mul_vector(dim, g, &p_p_row);
            let (mut a_z, mut b_z, mut z_b, mut r) = ([S::ZERO; R], [S::ZERO; R], *z, p_row);
            if two {
                a_z = mul_vector(dim, &layer_a.q.m, z);
                b_z = mul_vector(dim, g, &a_z);
                z_b = add_mul_vector(dim, z, &layer_a.p.m, &b_z);
                r = layer_a.q.add_transpose_mul_vector(dim, &p_row, &g_p);
            }
            let w = mul_vector(dim, g, &r);
            let s = mul_vector(dim, &layer_b.q.m, &z_b);
            let (mut k, mut m, mut u) = ([S::ZERO; R], [S::ZERO; R], s);
            if two {
                k = layer_a.p.transpose_mul_vector(dim, &s);
                m = mul_vector(dim, g, &k);
                u = layer_a.q.add_transpose_mul_vector(dim, &s, &m);
            }
            let value = -(z_b[K - 1] + dot(dim, &w, &u));
            if t == count {
                v_next = value;
                continue;
            }

            let target = targets.of(windows, t, v_next);
            let error = target - value;
            loss += error * error;
            v_next = value;
            // The adjoint of -value.
            let c = -(minus_two * error);

            // Backward through the last two layers.
            let u_bar = scaled(c, &w);
            let u_c = scaled(c, &u);
            let r_bar = mul_vector(dim, g, &u_c);
            add(&mut p_row_bar, &r_bar);
            if !two {
                add_outers(dim, &mut sums[last].q, [(&u_bar, &z_b)]);
                continue;
            }
            let m_bar = mul_vector(dim, &layer_a.q.m, &u_bar);
            let k_bar = mul_vector(dim, g, &m_bar);
            let s_bar = add_mul_vector(dim, &u_bar, &layer_a.p.m, &k_bar);
            let mut e_c = [S::ZERO; R];
            e_c[K - 1] = c;
            let z_b_bar = layer_b.q.add_transpose_mul_vector(dim, &e_c, &s_bar);
            let g_p_bar = mul_vector(dim, &layer_a.q.m, &r_bar);
            p_p_row_bar = add_mul_vector(dim, &p_p_row_bar, g, &g_p_bar);
            let b_bar = layer_a.p.transpose_mul_vector(dim, &z_b_bar);
            let a_bar = mul_vector(dim, g, &b_bar);
            let mut z_bar = layer_a.q.add_transpose_mul_vector(dim, &z_b_bar, &a_bar);
            add_outers(dim, &mut sums[second].p, [(&s, &k_bar), (&z_b_bar, &b_z)]);
            add_outers(dim, &mut sums[second].q, [(&m, &u_bar), (&g_p, &r_bar), (&a_bar, z)]);
            add_outers(dim, &mut sums[last].q, [(&s_bar, &z_b)]);
            if formed == 0 {
                continue;
            }
            // G-bar + G-bar^T
            symmetric_outers(
                dim,
                &mut h,
                [(&r, &u_c), (&m_bar, &k), (&g_p_bar, &p_p_row), (&b_bar, &a_z)],
            );

            // Backward through the layers that were formed.
            for l in (1..formed.min(L)).rev() {
                let step = &tape[l];
                let (layer, sum) = (&layers[l % stored], &mut sums[l % stored]);
                let [b_bar, product] = &mut scratch;
                mul_onto(dim, b_bar, Onto::Zeros, &h, &step.v);
                add_outers(dim, b_bar, [(&z_bar, &step.z)]);
                mul_onto(dim, product, Onto::Zeros, &step.g, &layer.q.m);
                mul_transpose_onto(dim, &mut sum.p, Onto::Itself, b_bar, product, false);
                // (1/n) P^T B-bar
                for j in 0..K {
                    product[j] = layer.p.transpose_mul_vector(dim, &b_bar[j]);
                }
                mul_onto(dim, &mut sum.q, Onto::Itself, &step.g, product);
                mul_transpose_onto(dim, b_bar, Onto::Zeros, product, &layer.q.m, false);
                z_bar = pull_back(dim, &mut h, &step.a, b_bar, &z_bar);
            }
            mul_onto(dim, &mut c_sum.m, Onto::Itself, &h, &tape[0].v);
            add_outers(dim, &mut c_sum.m, [(&z_bar, &tape[0].z)]);
            c_sum.update();
        }

        // What was put off: the Abel sum's first term, and the adjoints of p and (1/n) P_a^T p.
        if formed > 0 {
            let [g_q, p_c] = &mut scratch;
            mul_onto(dim, g_q, Onto::Zeros, &tape[0].g, &first.q.m);
            for j in 0..K {
                p_c[j] = first.p.transpose_mul_vector(dim, &c_sum.m[j]);
            }
            mul_transpose_onto(dim, &mut sums[0].p, Onto::Itself, &c_sum.m, g_q, false);
            mul_onto(dim, &mut sums[0].q, Onto::Itself, &tape[0].g, p_c);
        }
        if depth > 1 {
            p_row_bar = add_mul_vector(dim, &p_row_bar, &layers[second].p.m, &p_p_row_bar);
            add_outers(dim, &mut sums[second].p, [(&p_row, &p_p_row_bar)]);
        }
        add_outers(dim, &mut sums[last].p, [(&e_k, &p_row_bar)]);
        for (l, sum) in sums.iter().enumerate().take(stored) {
            gradient.add_scaled_layer(l, inverse_len, &sum.p, &sum.q);
        }
        loss * inverse_count
    }
}

/// H <- B^T H B + D + D^T for H = G-bar + G-bar^T, B = I + A, D = (1/n) P^T B-bar Q^T; returns
/// B^T z-bar.
#[inline(always)]
fn pull_back<S: Scalar, const R: usize, const K: usize>(
    dim: Dim,
    h: &mut Columns<S, R, K>,
    a: &Columns<S, R, K>,
    d: &Columns<S, R, K>,
    z_bar: &[S; R],
) -> [S; R] {
    let mut a = TwoSided::of(*a);
    a.update();
    let mut h_b = zeros();
    mul_onto(dim, &mut h_b, Onto::Matrix(h), h, &a.m);
    for j in 0..K {
        h[j] = a.add_transpose_mul_vector(dim, &h_b[j], &h_b[j]);
        for i in 0..K {
            h[j][i] += d[j][i] + d[i][j];
        }
    }
    mirror(h);
    a.add_transpose_mul_vector(dim, z_bar, z_bar)
}

#[inline(always)]
fn batch_layers<S: Scalar, const K: usize, const C: usize, const R: usize>(
    parameters: &AttentionParameters<S, K, C>,
    inverse_len: S,
) -> [BatchLayer<S, R, K>; C] {
    let mut layers = [BatchLayer { p: TwoSided::zeros(), q: TwoSided::zeros() }; C];
    for (l, to) in layers.iter_mut().enumerate() {
        let from = parameters.layer(l);
        for j in 0..K {
            for i in 0..K {
                to.p.m[j][i] = inverse_len * from.p[(i, j)];
                to.q.m[j][i] = from.q[(i, j)];
            }
        }
        to.p.update();
        to.q.update();
    }
    layers
}

#[inline(always)]
fn query<S: Scalar, const D: usize, const R: usize>(window: &Window<S, D>) -> [S; R] {
    let mut z = [S::ZERO; R];
    for i in 0..D {
        z[i] = window.query()[i];
    }
    z
}
