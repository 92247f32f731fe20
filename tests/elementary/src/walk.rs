//! Walks a function over neighbouring `f32`s, beside its values in `f64`.

/// So many neighbours share a Taylor series, which is cheaper than as many values.
const BLOCK: usize = 64;
/// Where a function is constant, or its argument, one in so many blocks is walked.
const STRIDE: usize = 61;

/// Returns the first bits of the blocks from 0 to `end`, all between `dense`.
fn blocks(dense: [f32; 2], end: f32) -> impl Iterator<Item = u32> {
    let [from, to, end] = [dense[0], dense[1], end].map(|x| x.to_bits() / BLOCK as u32);
    let sides = (0..from).step_by(STRIDE).chain(from..to + 1);
    sides.chain((to + 1..end + 1).step_by(STRIDE)).map(|block| block * BLOCK as u32)
}

/// What was found of a function.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// The largest error in units in the last place of the exact value, and where.
    pub(crate) ulp: f64,
    pub(crate) at: f32,
    /// How often a larger argument has a smaller value.
    pub(crate) descents: u64,
    /// How many arguments there were.
    pub(crate) count: u64,
}

impl Found {
    pub(crate) const NONE: Found = Found { ulp: 0.0, at: 0.0, descents: 0, count: 0 };

    /// Joins what was found of other arguments.
    pub(crate) fn and(self, other: Found) -> Found {
        let worse = if other.ulp > self.ulp { other } else { self };
        let descents = self.descents + other.descents;
        Found { descents, count: self.count + other.count, ..worse }
    }

    fn take(&mut self, x: f32, y: f32, exact: f64) {
        // (An infinity that is right.)
        let difference = if f64::from(y) == exact { 0.0 } else { f64::from(y) - exact };
        let error = difference.abs() / unit_of(exact);
        // NaN is the largest error there is.
        if !(error <= self.ulp) {
            (self.ulp, self.at) = (if error.is_nan() { f64::INFINITY } else { error }, x);
        }
    }
}

/// Returns the unit in the last place of an `f32` next to a number.
fn unit_of(exact: f64) -> f64 {
    let power = f64::from_bits(exact.to_bits() & 0x7ff0_0000_0000_0000);
    (power / 8_388_608.0).max(f64::from(f32::from_bits(1)))
}

/// Walks a function over the arguments from `sign` * 0 to `sign` * `end`, every one of sizes in `dense`. `exact` returns its value and
/// first four derivatives in `f64`.
#[inline(always)]
pub(crate) fn walk(
    sign: f32,
    dense: [f32; 2],
    end: f32,
    function: impl Fn(f32) -> f32,
    exact: impl Fn(f64) -> [f64; 5],
) -> Found {
    let mut found = Found::NONE;
    let mut before = function(0.0 * sign);
    for first in blocks(dense, end) {
        let (mut x, mut y) = ([0.0_f32; BLOCK], [0.0_f32; BLOCK]);
        for (i, (x, y)) in (first..).zip(x.iter_mut().zip(&mut y)) {
            *x = sign * f32::from_bits(i).min(end);
            *y = function(*x);
        }
        let mut descents = u32::from((y[0] - before) * sign < 0.0);
        for i in 1..BLOCK {
            descents += u32::from((y[i] - y[i - 1]) * sign < 0.0);
        }
        before = y[BLOCK - 1];
        let unit = f64::from(x[1]) - f64::from(x[0]);
        let middle = f64::from(x[0]) + unit * (BLOCK / 2) as f64;
        let radius = unit.abs() * (BLOCK / 2) as f64;
        if radius > 1.0 / 1024.0 || radius > middle.abs() / 65_536.0 {
            for (x, y) in x.into_iter().zip(y) {
                found.take(x, y, exact(x.into())[0]);
            }
        } else {
            let [d0, d1, d2, d3, d4] = exact(middle);
            let [d2, d3, d4] = [d2 / 2.0, d3 / 6.0, d4 / 24.0];
            let series = |x: f32| {
                let h = f64::from(x) - middle;
                d0 + h * (d1 + h * (d2 + h * (d3 + h * d4)))
            };
            let mut errors = [0.0_f64; BLOCK];
            for (error, (x, y)) in errors.iter_mut().zip(x.into_iter().zip(y)) {
                *error = (f64::from(y) - series(x)).abs();
            }
            // Only what may be a new record is looked at: a unit of these values is half of that one at least.
            let record = found.ulp * (0.5 * unit_of(d0));
            let mut may_be = false;
            for error in errors {
                may_be |= !(error <= record);
            }
            if may_be {
                for (x, y) in x.into_iter().zip(y) {
                    found.take(x, y, series(x));
                }
            }
        }
        found.descents += u64::from(descents);
        found.count += BLOCK as u64;
    }
    found
}

/// Walks a function over the negative arguments whose values those of the positive ones say: `of_positive` times these.
#[inline(always)]
pub(crate) fn mirrored(
    dense: [f32; 2],
    end: f32,
    of_positive: f32,
    function: impl Fn(f32) -> f32,
) -> Found {
    let mut found = Found::NONE;
    for first in blocks(dense, end) {
        let mut differ = 0;
        for bits in first..first + BLOCK as u32 {
            let x = f32::from_bits(bits).min(end);
            differ |= function(-x).to_bits() ^ (of_positive * function(x)).to_bits();
        }
        if differ != 0 {
            (found.ulp, found.at) = (f64::INFINITY, -f32::from_bits(first));
        }
        found.count += BLOCK as u64;
    }
    found
}

/// Walks a square root, in which a factor of 4 is an exact factor of 2: over every `f32` from 1 to 4, every subnormal one, and of
/// the others each 61st. Correctly rounded is what lies within half a unit of it, squared.
#[inline(always)]
pub(crate) fn walk_root(root: impl Fn(f32) -> f32) -> Found {
    let mut found = Found { ulp: 0.5, ..Found::NONE };
    let [normal, one, four] = [f32::MIN_POSITIVE, 1.0, 4.0].map(f32::to_bits);
    let others = (1..f32::INFINITY.to_bits()).step_by(61);
    for bits in (1..normal).chain(one..four).chain(others) {
        let x = f32::from_bits(bits);
        let y = root(x).to_bits();
        let [below, y, above] =
            [y.wrapping_sub(1), y, y.wrapping_add(1)].map(|bits| f64::from(f32::from_bits(bits)));
        let (low, high) = (0.5 * (below + y), 0.5 * (y + above));
        if !(low * low < x.into() && f64::from(x) < high * high) {
            (found.ulp, found.at) = (f64::INFINITY, x);
        }
        found.count += 1;
    }
    found
}
