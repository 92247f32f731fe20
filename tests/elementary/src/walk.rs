//! Walks a function over neighbouring `f32`s, beside its values in `f64`.

/// So many neighbours share a Taylor series, which is cheaper than as many values.
const BLOCK: u32 = 64;

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

    /// Joins what was found on either side of 0.
    pub(crate) fn and(self, other: Found) -> Found {
        let worse = if other.ulp > self.ulp { other } else { self };
        let descents = self.descents + other.descents;
        Found { descents, count: self.count + other.count, ..worse }
    }

    fn error(&mut self, x: f32, y: f32, exact: f64) {
        let ulp = f64::from_bits(exact.to_bits() & 0x7ff0_0000_0000_0000) / 8_388_608.0;
        let error = (f64::from(y) - exact).abs() / ulp.max(f64::from(f32::from_bits(1)));
        // NaN is the largest error there is.
        if !(error <= self.ulp) {
            (self.ulp, self.at) = (if error.is_nan() { f64::INFINITY } else { error }, x);
        }
    }
}

/// Walks a function over the arguments from `sign` * 0 to `sign` * `end`, both inclusive. `exact` returns its value and first four
/// derivatives in `f64`.
#[inline(always)]
pub(crate) fn walk(
    sign: f32,
    end: f32,
    function: impl Fn(f32) -> f32,
    exact: impl Fn(f64) -> [f64; 5],
) -> Found {
    let mut found = Found::NONE;
    let (mut first, last) = (0, end.to_bits());
    let mut before = f64::from(function(0.0 * sign));
    while first <= last {
        let count = BLOCK.min(last - first + 1);
        let mut y = [0.0_f32; BLOCK as usize];
        for i in 0..BLOCK {
            y[i as usize] = function(sign * f32::from_bits(first.wrapping_add(i)));
        }
        let y = &y[..count as usize];
        for y in y {
            let y = f64::from(*y);
            found.descents += u64::from((y - before) * f64::from(sign) < 0.0);
            before = y;
        }
        let x = |i: u32| sign * f32::from_bits(first + i);
        let unit = f64::from(x(1)) - f64::from(x(0));
        let middle = f64::from(x(0)) + unit * f64::from(BLOCK / 2);
        let radius = unit.abs() * f64::from(BLOCK / 2);
        if radius > 1.0 / 1024.0 || radius > middle.abs() / 65_536.0 {
            for (i, y) in (0..).zip(y) {
                found.error(x(i), *y, exact(x(i).into())[0]);
            }
        } else {
            let [d0, d1, d2, d3, d4] = exact(middle);
            let series = |i: u32| {
                let h = (f64::from(i) - f64::from(BLOCK / 2)) * unit;
                d0 + h * (d1 + h * (d2 / 2.0 + h * (d3 / 6.0 + h * (d4 / 24.0))))
            };
            // The largest error of the block first: only a new record is looked for.
            let unit = f64::from_bits(d0.to_bits() & 0x7ff0_0000_0000_0000) / 16_777_216.0;
            let mut worst = 0.0_f64;
            for (i, y) in (0..).zip(y) {
                let error = (f64::from(*y) - series(i)).abs();
                worst = if error <= worst { worst } else { error };
            }
            if !(worst <= found.ulp * unit) {
                for (i, y) in (0..).zip(y) {
                    found.error(x(i), *y, series(i));
                }
            }
        }
        found.count += u64::from(count);
        first += count;
    }
    found
}

/// Walks a function over the negative arguments whose values those of the positive ones say: `of_positive` times these.
#[inline(always)]
pub(crate) fn mirrored(end: f32, of_positive: f32, function: impl Fn(f32) -> f32) -> Found {
    let mut found = Found::NONE;
    for bits in 0..=end.to_bits() {
        let x = f32::from_bits(bits);
        let (negative, positive) = (function(-x), of_positive * function(x));
        if negative.to_bits() != positive.to_bits() {
            (found.ulp, found.at) = (f64::INFINITY, -x);
        }
        found.count += 1;
    }
    found
}

/// Walks a square root over the positive numbers: correctly rounded is what lies within half a unit of it, squared.
#[inline(always)]
pub(crate) fn walk_root(root: impl Fn(f32) -> f32) -> Found {
    let mut found = Found::NONE;
    for bits in 1..f32::INFINITY.to_bits() {
        let x = f32::from_bits(bits);
        let y = root(x).to_bits();
        let [below, y, above] =
            [y.wrapping_sub(1), y, y.wrapping_add(1)].map(|bits| f64::from(f32::from_bits(bits)));
        let (low, high) = (0.5 * (below + y), 0.5 * (y + above));
        let x64 = f64::from(x);
        if !(low * low < x64 && x64 < high * high) {
            (found.ulp, found.at) = (f64::INFINITY, x);
        }
    }
    found.count = u64::from(f32::INFINITY.to_bits()) - 1;
    found.ulp = found.ulp.max(0.5);
    found
}
