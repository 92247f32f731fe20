//! Walks a function over neighbouring `f32`s, beside its values in `f64`.

/// Where a function is constant, or its argument, one in so many arguments is walked.
const STRIDE: usize = 61;

/// Returns the arguments from 0 to `end`, between `dense` one in `every`.
fn arguments(every: usize, dense: [f32; 2], end: f32) -> impl Iterator<Item = f32> {
    let [from, to, end] = [dense[0], dense[1], end].map(f32::to_bits);
    let stride = STRIDE * every;
    let sides = (0..from).step_by(stride).chain((from..to).step_by(every));
    sides.chain((to..end).step_by(stride)).chain([end]).map(f32::from_bits)
}

/// What was found of a function.
#[derive(Clone, Copy, Debug, Default)]
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
        self.count += 1;
    }
}

/// Returns the unit in the last place of an `f32` next to a number.
fn unit_of(exact: f64) -> f64 {
    let power = f64::from_bits(exact.to_bits() & 0x7ff0_0000_0000_0000);
    (power / 8_388_608.0).max(f64::from(f32::from_bits(1)))
}

/// Walks a function over the arguments from `sign` * 0 to `sign` * `end`, every one of sizes in `dense`. `exact` is it in `f64`.
#[inline(always)]
pub(crate) fn walk(
    every: usize,
    sign: f32,
    dense: [f32; 2],
    end: f32,
    function: impl Fn(f32) -> f32,
    exact: impl Fn(f64) -> f64,
) -> Found {
    let mut found = Found::default();
    let mut before = function(0.0 * sign);
    arguments(every, dense, end).map(|x| sign * x).for_each(|x| {
        let y = function(x);
        found.descents += u64::from((y - before) * sign < 0.0);
        found.take(x, y, exact(x.into()));
        before = y;
    });
    found
}

/// Walks a square root, in which a factor of 4 is an exact factor of 2: over every `f32` from 1 to 4, every subnormal one, and of
/// the others each 61st. Correctly rounded is what lies within half a unit of it, squared.
#[inline(always)]
pub(crate) fn walk_root(every: usize, root: impl Fn(f32) -> f32) -> Found {
    let mut found = Found { ulp: 0.5, ..Found::default() };
    let [normal, one, four] = [f32::MIN_POSITIVE, 1.0, 4.0].map(f32::to_bits);
    let others = (1..f32::INFINITY.to_bits()).step_by(STRIDE);
    for bits in (1..normal).chain(one..four).chain(others).step_by(every) {
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
