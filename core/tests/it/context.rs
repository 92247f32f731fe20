use super::*;
use ictd_core::mask::{Entrywise, MeanCentred};
use ictd_core::tasks::Task;

/// Terms that a growing context adds up before a block is closed.
const BLOCK: u64 = 256;

#[test]
fn blocks_close_by_columns_and_the_sum_stays_that_of_all_terms() {
    /// `state`: how many numbers of the mask's own are stored.
    fn check<M: Mask<f32>>(mask: M, mask64: impl Mask<f64>, state: usize) {
        let mut rng = Rng::new(1);
        let mut context = Context::<3, M>::with_memory(mask, Growing);
        let mut exact = Context::<3, _, _, f64>::with_memory(mask64, Growing);
        let mut bytes = [0; 4096];
        for n in 1..=3 * BLOCK + 7 {
            let mut number = || rng.uniform_in::<f32>(-1.0, 2.0);
            let [phi, phi_next] = [(); 2].map(|()| [(); 3].map(|()| number()));
            let reward = number();
            context.observe(&phi, reward, &phi_next).unwrap();
            exact
                .observe(&phi.map(f64::from), f64::from(reward), &phi_next.map(f64::from))
                .unwrap();
            // The last count of a stored context says how many of the seven columns are left to close.
            let bytes = context.write(&mut bytes).unwrap();
            let left = u64::from_le_bytes(bytes[bytes.len() - 12..][..8].try_into().unwrap());
            assert_eq!(left, if n < BLOCK { 0 } else { 7_u64.saturating_sub(n % BLOCK) });
            let want = exact.statistic::<7>(0.5, 0).unwrap().g;
            let got = context.statistic::<7>(0.5, 0).unwrap().g.map(f64::from);
            let error = (got - want).amax() / want.amax();
            assert!(error < 1e-5, "{n} terms, {mask:?}: {error}");
        }
        // The second of four sums keeps the rounding errors of the first.
        let bytes = context.write(&mut bytes).unwrap();
        let sums = &bytes[36 + 4 * (state + 1)..bytes.len() - 36];
        assert!(sums[sums.len() / 4..sums.len() / 2].iter().any(|byte| *byte != 0));
        // All of a block that was closed is 0.
        let mut blocks = sums.chunks(sums.len() / 4).skip(2);
        assert!(blocks.any(|block| block.iter().all(|byte| *byte == 0)));
    }
    check(Td0, Td0, 0);
    check(TdLambda::new(0.5).unwrap(), TdLambda::new(0.5).unwrap(), 14);
}

#[test]
fn a_spike_that_sums_could_not_hold_is_refused_by_name() {
    let check = |phi: f32, reward: f32, phi_next: f32| {
        let (phi, phi_next) = (SVector::from([1.0, phi]), SVector::from([phi_next, 1.0]));
        Transition { phi, reward, phi_next }.check()
    };
    let large = 1.6e14;
    assert_eq!(check(large, -large, large), Ok(()));
    let expected = "a length below 2.8e14 (f64: 2e149)";
    let refused = |parameter| Err(Error::OutOfRange { parameter, expected });
    assert_eq!(check(3e14, 0.0, 0.0), refused("phi"));
    assert_eq!(check(0.0, -3e19, 0.0), refused("reward"));
    assert_eq!(check(0.0, 0.0, f32::MAX), refused("phi_next"));
    assert_eq!(check(2e14, 1.0, 2.5e14), refused("phi_next"));
    let non_finite = Err(Error::NonFinite { parameter: "reward" });
    assert_eq!(check(0.0, f32::INFINITY, f32::NAN), non_finite);
}

#[test]
fn a_context_takes_the_documented_memory() {
    let m = |d: usize, c: usize| (2 * d) * (2 * d) + c * (4 * d + 1);
    let bytes = |numbers: usize, others: usize| (4 * numbers + others).next_multiple_of(8);
    assert_eq!(size_of::<Context<4>>(), bytes(4 * m(4, 1) + 1, 24));
    assert_eq!(size_of::<Context<8, Td0, Growing, f32, 8>>(), bytes(4 * m(8, 8) + 8, 24));
    assert_eq!(size_of::<Context<4, Td0, Forgetting>>(), bytes(m(4, 1) + 1, 20));
    assert_eq!(size_of::<Context<4, TdLambda>>(), bytes(4 * (m(4, 1) + 17) + 18 + 1, 24));
}

#[test]
fn a_context_that_is_read_in_its_place_is_the_stored_one_and_an_error_leaves_it() {
    fn check<W: Memory<f32>>(memory: W, bad_counts: &[[usize; 2]]) {
        let mut context = Context::<2, Td0, W>::with_memory(Td0, memory);
        let mut page = vec![0xff; 8192];
        let mut rng = Rng::new(5);
        for _ in 0..300 {
            let [x, y, r] = [(); 3].map(|()| rng.normal::<f32>());
            context.observe(&[x, y], r, &[y, x]).unwrap();
        }
        let mut read = Context::<2, Td0, W>::with_memory(Td0, memory);
        let empty = read.clone();
        let bytes = context.write(&mut page).unwrap().to_vec();
        every_damage_is_found(&bytes, Some("ICTC"), 20, |bytes| {
            let found = read.read(bytes);
            assert_eq!(read, empty);
            found
        });
        // Eight bytes more, and counts beyond what there can be, under a right length and checksum.
        let changed = [[8, 0, 0]].into_iter().chain(bad_counts.iter().map(|[at, n]| [0, *at, *n]));
        for [more, from_end, count] in changed {
            let len = bytes.len() + more;
            let damaged = resealed(&[&bytes[..], &vec![0; more]].concat(), |bytes| {
                bytes[16..20].copy_from_slice(&(len as u32).to_le_bytes());
                if from_end > 0 {
                    bytes[len - from_end..][..8].copy_from_slice(&(count as u64).to_le_bytes());
                }
            });
            assert!(read.read(&damaged).is_err() && read == empty, "{from_end} {count}");
            assert!(Context::<2, Td0, W>::from_bytes(&damaged).is_err());
        }
        read.read(&bytes).unwrap();
        assert_eq!(read, context);
        assert_eq!(Context::<2, Td0, W>::from_bytes(&bytes).unwrap(), context);
    }
    // Which block is open, how full it is, how many of five columns are left.
    check(Growing, &[[28, 2], [20, 256], [12, 6]]);
    check(Forgetting::new(0.9).unwrap(), &[]);
    let (mut page, stored) = ([0; 1024], Forgetting::new(0.9).unwrap());
    let context = Context::<2, Td0, Forgetting>::with_memory(Td0, stored);
    let mut other = Context::<2, Td0, Forgetting>::with_memory(Td0, Forgetting::new(0.5).unwrap());
    let error = other.read(context.write(&mut page).unwrap());
    assert!(matches!(error, Err(Error::Mismatch { .. })));
}

#[test]
fn a_sliding_context_goes_on_from_its_bytes_and_forgets_a_spike() {
    fn check<R: Real>(mask: impl Mask<R>, most: f64) {
        let new = || Context::<2, _, _, R>::with_memory(mask, Sliding::<8>);
        let (mut context, mut page, mut last) = (new(), [0; 2048], Vec::new());
        let mut rng = Rng::new(9);
        for t in 0..60 {
            // A spike of 65,535 among numbers of 1 leaves a window in which an episode ends; the sums are made anew.
            let size = if t == 22 { 65_535.0 } else { 1.0 };
            let mut number = || R::from_f64(size * rng.uniform_in::<f64>(0.5, 1.0));
            last.push(([number(), number()], number(), [number(), number()]));
            let observe = |context: &mut Context<2, _, _, R>, s: usize| {
                let (phi, reward, next): ([R; 2], R, [R; 2]) = last[s];
                context.observe(&phi, reward, &next).unwrap();
                if s % 11 == 5 {
                    context.end_episode();
                }
            };
            observe(&mut context, t);
            let bytes = context.write(&mut page).unwrap();
            let read = Context::<2, _, Sliding<8>, R>::from_bytes;
            assert_eq!(read(bytes).as_ref(), Ok(&context));
            if t == 40 {
                every_damage_is_found(bytes, Some("ICTC"), 20, read);
            }
            // A window that is longer than there is room for, and one that has more to come than it says.
            for (at, count) in [(20, 9_u64), (20, 7), (28, 8)] {
                let at = at + 4 * size_of::<R>();
                let to = |bytes: &mut [u8]| bytes[at..at + 8].copy_from_slice(&count.to_le_bytes());
                let read = read(&resealed(bytes, to));
                assert!(read.is_err() || last.len() == count as usize, "{t}: {at} {count}");
            }
            let mut anew = new();
            (t.saturating_sub(7)..=t).for_each(|s| observe(&mut anew, s));
            let [found, expected] = [&context, &anew]
                .map(|context| context.statistic::<5>(R::from_f64(0.9), 0).unwrap());
            assert_eq!(found.inverse_len, expected.inverse_len);
            // (A trace comes into a new window with nothing of what was before it.)
            let [error, largest] =
                [found.g - expected.g, expected.g].map(|g| g.map(R::to_f64).amax());
            assert!(error <= most * largest, "{t}: off by {error} of {largest}");
        }
    }
    check::<f32>(Td0, 1e-4);
    check::<f32>(MeanCentred, 1e-4);
    check::<f64>(Td0, 1e-12);
    check::<f64>(MeanCentred, 1e-12);
    for lambda in [0.5, 1.0] {
        check(TdLambda::new(lambda as f32).unwrap(), 1e-4);
        check(TdLambda::new(lambda).unwrap(), 1e-12);
    }
}

#[test]
fn the_checksum_is_that_of_zlib_and_png() {
    assert_eq!((crc32(b"123456789"), crc32(b"")), (0xcbf4_3926, 0));
}

/// A mask of one's own: token j counts with weight 1 / (1 + j mod 3), as an emphasis would have it. G is symmetric.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Weighted;

impl Mask<f64> for Weighted {
    /// The number of tokens so far.
    type State<V: Entrywise<f64>> = f64;
    type Auxiliary<const D: usize, const C: usize> = ();
    const CODE: u8 = 200;

    fn from_trace_decays(_: [f64; 2]) -> Result<Self, Error> {
        Ok(Weighted)
    }

    fn entry(&self, row: usize, column: usize, n: usize) -> f64 {
        if row == column && row < n { 1.0 / (1.0 + (row % 3) as f64) } else { 0.0 }
    }

    fn rank_one_update<V: Entrywise<f64>>(&self, seen: &mut f64, z: &V, _: f64) -> (V, V) {
        let weight = self.entry(*seen as usize, *seen as usize, usize::MAX);
        *seen += 1.0;
        let mut weighted = V::ZERO;
        weighted.add_scaled(weight, z);
        (weighted, *z)
    }
}

#[test]
fn a_weighted_mask_of_ones_own_streams_its_own_statistic() {
    fn check<W: Memory<f64>, const N: usize>(memory: W) {
        let task: Mrp<f64, 2, 10> = boyan_chain(10, 2, &mut Rng::new(3)).unwrap();
        let transitions = task.trajectory::<20>(20, &mut Rng::new(4)).unwrap();
        let mut context = Context::<2, Weighted, W, f64>::with_memory(Weighted, memory);
        transitions.iter().for_each(|t| context.observe_transition(t).unwrap());
        let kept = &transitions[20 - N..];
        let prompt = Prompt::<f64, 5, N>::discounted(kept, 0.9, &SVector::zeros()).unwrap();
        // The literal Z M Z^T.
        let mut literal = SMatrix::<f64, 5, 5>::zeros();
        for (j, z) in prompt.context().iter().enumerate() {
            literal += Weighted.entry(j, j, N) * z * z.transpose();
        }
        let streamed = context.statistic::<5>(0.9, 0).unwrap().g;
        assert!((streamed - literal).amax() < 1e-12, "{streamed} {literal}");
    }
    check::<_, 20>(Growing);
    check::<_, 20>(Sliding::<20>);
    check::<_, 7>(Sliding::<7>);
}
