//! How far each streaming context drifts in `f32` over a long stream, against sums in `f64`.
//!
//! The error is max |G_f32 - G_f64| / max |G_f64|.

use super::{D, Stream, soak};
use ictd_core::attention::{Mask, MeanCentred, Td0, TdLambda};
use ictd_core::context::{Context, Forgetting, Growing, Memory, Sliding};
use ictd_core::linalg;
use ictd_core::mask::Entrywise;
use ictd_core::transition::{Transition, token};
use nalgebra::{SMatrix, SVector};
use std::collections::VecDeque;

const K: usize = 9;
/// The window of the sliding contexts.
const N: usize = 64;
const RETENTION: f32 = 0.999;
/// The unit roundoff of `f32`.
const U: f64 = 1.0 / 16_777_216.0;

const GAMMA: f32 = 0.9;

fn token64(t: &Transition<f32, D>, gamma: f64) -> SVector<f64, K> {
    let t = Transition {
        phi: t.phi.map(f64::from),
        reward: f64::from(t.reward),
        phi_next: t.phi_next.map(f64::from),
    };
    token::<f64, D, K>(&t, gamma)
}

fn drift(context: &Context<D, impl Mask<f32>, impl Memory<f32>>, want: &SMatrix<f64, K, K>) -> f64 {
    let got = context.statistic::<K>(GAMMA, 0).unwrap().g.map(f64::from);
    (got - want).amax() / want.amax()
}

/// A plain sum in `f64`: a hundred million terms lose at most 1e-8 of it, a sixth of one roundoff of
/// `f32`, if every rounding goes the same way.
struct Sum64<M: Mask<f64>> {
    mask: M,
    state: M::State<[f64; K]>,
    g: SMatrix<f64, K, K>,
}

impl<M: Mask<f64>> Sum64<M> {
    fn new(mask: M) -> Self {
        Sum64 { mask, state: Entrywise::ZERO, g: linalg::zeros() }
    }

    fn add(&mut self, z: &SVector<f64, K>, retention: f64) {
        let (left, right) = self.mask.rank_one_update(&mut self.state, &z.data.0[0], retention);
        self.g *= retention;
        linalg::add_outer(&mut self.g, &left.into(), &right.into());
    }
}

/// Prints and bounds the drift of the three policies under one mask.
fn measure<A: Mask<f32>, B: Mask<f64>>(name: &str, mask: A, mask64: B) {
    let mut growing = Context::<D, _, _, f32>::with_memory(mask, Growing);
    let retention = Forgetting::new(RETENTION).unwrap();
    let mut forgetting = Context::<D, _, _, f32>::with_memory(mask, retention);
    let mut sliding = Context::<D, _, _, f32>::with_memory(mask, Sliding::<N>);
    let (mut grown, mut remembered) = (Sum64::new(mask64), Sum64::new(mask64));
    let mut window = VecDeque::new();
    let mut stream = Stream::new();
    let mut worst_sliding = 0.0f64;
    let stream_len = soak();
    for step in 1..=stream_len {
        let t = stream.next();
        growing.observe_transition(&t).unwrap();
        forgetting.observe_transition(&t).unwrap();
        sliding.observe_transition(&t).unwrap();
        let z = token64(&t, f64::from(GAMMA));
        grown.add(&z, 1.0);
        remembered.add(&z, f64::from(RETENTION));
        window.push_back(z);
        if window.len() > N {
            window.pop_front();
        }
        // Just before the sliding context replaces its sum, when its error is largest, and at
        // other moments as well.
        if step % 9_973 == 0 || step + N > stream_len {
            let mut recomputed = Sum64::new(mask64);
            for z in &window {
                recomputed.add(z, 1.0);
            }
            worst_sliding = worst_sliding.max(drift(&sliding, &recomputed.g));
        }
    }
    assert_eq!(growing.len(), stream_len as u64);
    assert_eq!(sliding.len(), N as u64);
    let drifts = [drift(&growing, &grown.g), drift(&forgetting, &remembered.g), worst_sliding];
    let in_roundings = drifts.map(|drift| drift / U);
    println!("{name}: growing, forgetting, sliding, in roundoffs of f32: {in_roundings:.1?}");
    let policies = ["growing", "forgetting", "sliding"];
    for ((drift, bound), policy) in drifts.iter().zip(BOUNDS).zip(policies) {
        assert!(*drift < bound, "{name}, {policy}: {drift:e} is not below {bound:e}");
    }
}

/// Worst cases of a plain sum, if every rounding goes the same way: a task with few states repeats the
/// same terms, so that roundings are systematic and not at random.
///
/// * Growing: addition k of a block of 256 rounds at most U of k/256 of the block's sum: 128 U, however
///   many blocks there are, as the total is compensated. (A plain sum of a million terms: 500,000 U.)
/// * Forgetting: 1 / (1 - retention) = 1000 roundings of two operations each are remembered: 2000 U.
/// * Sliding: at most 2 N additions and N subtractions since the last sum by addition alone: 3 N U.
///
/// The bounds are a half, a quarter, and a quarter of these.
const BOUNDS: [f64; 3] = [64.0 * U, 500.0 * U, 48.0 * U];

#[test]
fn contexts_do_not_drift_over_a_long_stream() {
    measure("TD(0)", Td0, Td0);
    // With lambda = 1 the trace never decays: it is the sum of all tokens so far.
    for lambda in [0.5f32, 0.9, 1.0] {
        let mask = TdLambda::new(lambda).unwrap();
        let mask64 = TdLambda::new(f64::from(lambda)).unwrap();
        measure(&format!("TD({lambda})"), mask, mask64);
    }
    measure("average reward", MeanCentred, MeanCentred);
}
