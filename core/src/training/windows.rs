use crate::error::{Error, Result, ensure, out_of_range};
use crate::linalg::{keep_apart, zeros};
use crate::mask::power;
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use crate::transition::check_gamma;
use core::ops::Deref;
use heapless::Vec;
use nalgebra::SVector;

/// A trajectory phi_0, R_1, phi_1, ..., seen as W + 1 windows of n transitions that slide by one, or as W
/// windows that grow ([`Windows::growing`]).
///
/// Window t has the context transitions (phi_t, R_{t+1}, phi_{t+1}) to
/// (phi_{t+n-1}, R_{t+n}, phi_{t+n}) and the query phi_{t+n+1}: the transition from phi_{t+n} to
/// the query is in no context. Its TD error is
/// delta_t = R_{t+n+2} + gamma v_{t+1} - v_t, for t = 0 to W - 1; window W only bootstraps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Windows<'a, S: Scalar> {
    /// d numbers for each state, one state behind the other.
    features: &'a [S],
    rewards: &'a [S],
    context_len: usize,
    /// The contexts' lengths if they grow; empty if they slide.
    lengths: &'a [usize],
    gamma: S,
    dim: usize,
}

/// One window: a context and its query, without a copy. It is a trajectory of its own, phi_t to phi_{t+n+1}.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window<'a, S: Scalar>(Windows<'a, S>);

impl<'a, S: Scalar> Deref for Window<'a, S> {
    type Target = Windows<'a, S>;

    #[inline(always)]
    fn deref(&self) -> &Windows<'a, S> {
        &self.0
    }
}

impl<'a, S: Scalar> Windows<'a, S> {
    /// Returns the windows of one episode: phi_0 to phi_{n+W+1}, `dim` numbers each, one behind the other, and R_1 to
    /// R_{n+W+1} for contexts of n = `context_len` transitions. W >= 1 follows from the length.
    /// Returns [`Error::Empty`] if n or `dim` is 0 or there is no complete window, [`Error::OutOfRange`] unless there is one
    /// reward for each step and gamma is in \[0, 1), [`Error::NonFinite`], naming `features`, `rewards` or `gamma`.
    pub fn new(
        dim: usize,
        features: &'a [S],
        rewards: &'a [S],
        context_len: usize,
        gamma: S,
    ) -> Result<Self> {
        let states = features.len().checked_div(dim).unwrap_or(0);
        ensure(context_len != 0, Error::Empty { parameter: "context" })?;
        ensure(dim != 0, Error::Empty { parameter: "features" })?;
        let has_window = states >= 3 && states - 3 >= context_len;
        ensure(has_window, Error::Empty { parameter: "windows" })?;
        ensure(
            (rewards.len() + 1) * dim == features.len(),
            out_of_range("rewards", "one reward for each step of the trajectory"),
        )?;
        let gamma = check_gamma(gamma)?;
        for (numbers, parameter) in [(features, "features"), (rewards, "rewards")] {
            // Summed up times 0, NaN and infinities give NaN: one comparison for all.
            let zero = numbers.iter().fold(S::ZERO, |zero, x| zero + *x * S::ZERO);
            ensure(zero.is_finite(), Error::NonFinite { parameter })?;
        }
        Ok(Windows { features, rewards, context_len, lengths: &[], gamma, dim })
    }

    /// Returns the same trajectory, seen as one window for each of the lengths: the context of window t is its first
    /// n_t transitions, the query the state one further, phi_{n_t + 1}, and the TD error bootstraps from the
    /// context that is one transition longer.
    /// Returns [`Error::Empty`] without a length, or if one is 0; [`Error::CapacityExceeded`] if the trajectory is shorter
    /// than n_t + 3 states.
    pub fn growing(&self, lengths: &'a [usize]) -> Result<Self> {
        ensure(
            !lengths.is_empty() && !lengths.contains(&0),
            Error::Empty { parameter: "lengths" },
        )?;
        let capacity = self.states() - 3;
        ensure(lengths.iter().all(|n| *n <= capacity), Error::capacity("lengths", capacity))?;
        Ok(Windows { lengths, ..*self })
    }

    /// Returns true if contexts are of one length and slide, false if they grow.
    #[inline(always)]
    pub fn slide(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Returns W, the number of windows with a TD error.
    #[inline(always)]
    pub fn count(&self) -> usize {
        if self.slide() { self.states() - self.context_len - 2 } else { self.lengths.len() }
    }

    /// Returns the first transition of window t's context, and how many there are.
    #[inline(always)]
    fn span(&self, t: usize) -> [usize; 2] {
        match self.lengths.get(t.min(self.lengths.len().saturating_sub(1))) {
            None => [t, self.context_len],
            Some(n) => [0, *n],
        }
    }

    /// Returns n, the number of context transitions in a window.
    #[inline(always)]
    pub fn context_len(&self) -> usize {
        self.context_len
    }

    /// Returns d, the number of features.
    #[inline(always)]
    pub fn dim(&self) -> usize {
        self.dim
    }

    #[inline(always)]
    fn states(&self) -> usize {
        self.rewards.len() + 1
    }

    /// Returns the discount gamma.
    #[inline(always)]
    pub fn gamma(&self) -> S {
        self.gamma
    }

    /// Returns phi_k, (d), for k = 0 to n + W + 1; of a window those that its transitions pass through for k <= n.
    /// Returns [`Error::OutOfRange`] beyond.
    pub fn phi(&self, k: usize) -> Result<&'a [S]> {
        ensure(k < self.states(), out_of_range("k", "a state of the trajectory"))?;
        Ok(self.state(k))
    }

    /// Returns phi_k, and nothing beyond.
    #[inline(always)]
    fn state(&self, k: usize) -> &'a [S] {
        self.features.get(k * self.dim..(k + 1) * self.dim).unwrap_or_default()
    }

    /// Returns R_1 to R_{n+W+1}; of a window R_{t+1} to R_{t+n}.
    #[inline(always)]
    pub fn rewards(&self) -> &'a [S] {
        self.rewards
    }

    /// Returns window t, for t = 0 to W, or to W - 1 if they grow. Returns [`Error::OutOfRange`] beyond.
    pub fn window(&self, t: usize) -> Result<Window<'a, S>> {
        self.check_index(t, self.count() + usize::from(self.slide()))?;
        Ok(self.at(t))
    }

    fn check_index(&self, t: usize, end: usize) -> Result<()> {
        ensure(t < end, out_of_range("t", "a window of the trajectory"))
    }

    /// Returns window t, and the last one beyond.
    #[inline(always)]
    pub(super) fn at(&self, t: usize) -> Window<'a, S> {
        self.window_of_span(self.span(t.min(self.count())))
    }

    /// Returns the window whose value the TD error of window t bootstraps from, for t = 0 to W - 1.
    /// Returns [`Error::OutOfRange`] beyond.
    pub fn successor(&self, t: usize) -> Result<Window<'a, S>> {
        self.check_index(t, self.count())?;
        Ok(self.after(t))
    }

    #[inline(always)]
    pub(super) fn after(&self, t: usize) -> Window<'a, S> {
        let [start, n] = self.span(t);
        self.window_of_span(if self.slide() { [start + 1, n] } else { [start, n + 1] })
    }

    #[inline(always)]
    fn window_of_span(&self, [t, n]: [usize; 2]) -> Window<'a, S> {
        Window(Windows {
            features: self.features.get(t * self.dim..(t + n + 2) * self.dim).unwrap_or_default(),
            rewards: self.rewards.get(t..t + n).unwrap_or_default(),
            context_len: n,
            lengths: &[],
            ..*self
        })
    }

    /// Writes context token j of the trajectory, (phi_j; gamma phi_{j+1}; R_{j+1}), with room for `capacity` >= d features,
    /// to the front of z, which already contains the zeros.
    #[inline(always)]
    pub(super) fn write_token(&self, capacity: usize, j: usize, z: &mut [S]) {
        let (here, rest) = z.split_at_mut_checked(capacity).unwrap_or_default();
        let (next, rest) = rest.split_at_mut_checked(capacity).unwrap_or_default();
        let numbers = self.state(j).iter().zip(self.state(j + 1));
        for ((here, next), (phi, phi_next)) in here.iter_mut().zip(next).zip(numbers) {
            keep_apart::<S>();
            *here = *phi;
            *next = self.gamma * *phi_next;
        }
        if let (Some(last), Some(reward)) = (rest.first_mut(), self.rewards.get(j)) {
            *last = *reward;
        }
    }

    /// Returns context token j of the trajectory as one of (K - 1) / 2 >= d features: with zeros for those that
    /// there are not; of a window its column j = 0 to n - 1, (phi_{t+j}; gamma phi_{t+j+1}; R_{t+j+1}).
    /// Returns [`Error::OutOfRange`] beyond, and [`Error::CapacityExceeded`] if K is too small.
    pub fn token<const K: usize>(&self, j: usize) -> Result<SVector<S, K>> {
        ensure(j < self.rewards.len(), out_of_range("j", "a transition of the trajectory"))?;
        self.check_token::<K>()?;
        Ok(self.column(j))
    }

    fn check_token<const K: usize>(&self) -> Result<()> {
        let capacity = K.saturating_sub(1) / 2;
        ensure(self.dim <= capacity, Error::capacity("features", capacity))
    }

    #[inline(always)]
    pub(super) fn column<const K: usize>(&self, j: usize) -> SVector<S, K> {
        let (mut token, capacity) = (zeros::<S, K, 1>(), (K - 1) / 2);
        let z = &mut token.data.0[0];
        if capacity == self.dim {
            // The compiler then knows the number of features.
            Windows { dim: capacity, ..*self }.write_token(capacity, j, z);
        } else {
            self.write_token(capacity, j, z);
        }
        token
    }

    /// Returns R_{t+n+2} + gamma v_{t+1}, what v_t should have been, for t = 0 to W - 1.
    /// Returns [`Error::OutOfRange`] beyond.
    pub fn td_target(&self, t: usize, v_next: S) -> Result<S> {
        self.check_index(t, self.count())?;
        Ok(self.target(t, v_next))
    }

    #[inline(always)]
    pub(super) fn target(&self, t: usize, v_next: S) -> S {
        let [start, n] = self.span(t);
        // The transition from the query.
        let reward = self.rewards.get(start + n + 1).copied();
        reward.unwrap_or(S::from_f64(f64::NAN)) + self.gamma * v_next
    }
}

impl<'a, S: Scalar> Window<'a, S> {
    /// Returns the query's features phi_{t+n+1}, (d).
    #[inline(always)]
    pub fn query(&self) -> &'a [S] {
        self.state(self.context_len + 1)
    }

    /// Writes the query column (phi; 0; 0); z already contains the zeros.
    #[inline(always)]
    pub(super) fn write_query(&self, z: &mut [S]) {
        for (to, from) in z.iter_mut().zip(self.query()) {
            *to = *from;
        }
    }

    /// Returns the query column (phi_{t+n+1}; 0; 0), (K), or [`Error::CapacityExceeded`] if K is too small.
    pub fn query_token<const K: usize>(&self) -> Result<SVector<S, K>> {
        self.check_token::<K>()?;
        Ok(self.query_column())
    }

    #[inline(always)]
    pub(super) fn query_column<const K: usize>(&self) -> SVector<S, K> {
        let mut z = zeros();
        self.write_query(&mut z.data.0[0]);
        z
    }

    /// Returns the whole prompt Z_0, (K, n + 1), or [`Error::CapacityExceeded`] if the window has more than N transitions or K
    /// is too small.
    pub fn prompt<const K: usize, const N: usize>(&self) -> Result<Prompt<S, K, N>> {
        let query = self.query_token()?;
        ensure(self.context_len <= N, Error::capacity("context", N))?;
        let columns: Vec<SVector<S, K>, N> =
            (0..self.context_len).map(|j| self.column(j)).collect();
        Prompt::from_columns(&columns, query)
    }
}

/// A trajectory: room for T feature vectors, T - 1 rewards, and a target for each window where the loss
/// needs one.
#[derive(Clone, Debug, PartialEq)]
pub struct TrajectoryBuffer<S: Scalar, const D: usize, const T: usize> {
    /// d <= D, how many features there are.
    pub(super) dim: usize,
    /// phi_0, phi_1, ..., d numbers each, one behind the other; the rest is room.
    pub(super) features: [[S; D]; T],
    /// R_1, R_2, ...: the reward of step k at index k.
    pub(super) rewards: [S; T],
    /// The target of each window's value, for losses whose targets are given.
    pub(super) targets: [S; T],
    /// The lengths of contexts that grow.
    pub(super) lengths: [usize; T],
}

impl<S: Scalar, const D: usize, const T: usize> TrajectoryBuffer<S, D, T> {
    /// Returns zeros everywhere, with `dim` features, or D if that is less.
    pub(super) fn new(dim: usize) -> Self {
        TrajectoryBuffer {
            dim: dim.min(D),
            features: [[S::ZERO; D]; T],
            rewards: [S::ZERO; T],
            targets: [S::ZERO; T],
            lengths: [0; T],
        }
    }

    /// Returns the windows of the first n + W + 2 feature vectors.
    /// Returns [`Error::CapacityExceeded`] if that is more than T, and the errors of [`Windows::new`].
    #[inline(always)]
    pub fn windows(&self, context_len: usize, windows: usize, gamma: S) -> Result<Windows<'_, S>> {
        windows_of(
            self.dim,
            (self.features.as_flattened(), &self.rewards),
            [context_len, windows],
            gamma,
        )
    }
}

/// Returns [`TrajectoryBuffer::windows`] of its features and rewards, with its errors.
#[inline(always)]
pub(super) fn windows_of<'a, S: Scalar>(
    dim: usize,
    (features, rewards): (&'a [S], &'a [S]),
    [context_len, windows]: [usize; 2],
    gamma: S,
) -> Result<Windows<'a, S>> {
    let (len, room) = (context_len.saturating_add(windows).saturating_add(2), rewards.len());
    ensure(len <= room, Error::capacity("trajectory", room))?;
    let features = features.get(..len * dim).unwrap_or_default();
    let rewards = rewards.get(..len - 1).unwrap_or_default();
    Windows::new(dim, features, rewards, context_len, gamma)
}

/// The two sides of an outer product of tokens, x x'^T.
pub(super) type OuterProduct<'a, S> = [&'a [S]; 2];

/// Returns the sides of token i of the context that begins at transition `start`, whose tokens are read in
/// order: z_i, and z_i or its trace e_i = lambda e_{i-1} + z_i. (It takes no closure, which would lose a
/// kernel's instructions.)
#[inline(always)]
pub(super) fn next_token<'a, S: Scalar>(
    windows: &Windows<S>,
    start: usize,
    i: usize,
    lambda: Option<S>,
    [z, e]: [&'a mut [S]; 2],
) -> OuterProduct<'a, S> {
    windows.write_token(windows.dim(), i, z);
    let Some(lambda) = lambda else { return [z, z] };
    if i == start {
        e.fill(S::ZERO);
    }
    add_to_trace(e, lambda, z);
    [z, e]
}

/// The number of windows for which the traces of what is lost are computed at once.
pub(super) const TRACES: usize = 16;

/// Returns what G gains and loses from window t + 1 to window t, whose contexts are n transitions each: the sides
/// x x'^T and y y'^T. It is called for t = W - 1 to 0, one after the other, with the same room for vectors: four, and under
/// TD(lambda)'s mask `traces` for [`TRACES`], whose first numbers alone may be kept.
///
/// Under TD(0)'s mask x = x' is the token gained and y = y' the one lost. Under TD(lambda)'s
/// x = sum_i lambda^(i-t) z_i is what sees x' = z_t from its own place on, and
/// y' = sum_j lambda^(t+n-j) z_j is the trace that y = z_{t+n} sees. Each follows from its neighbour, so that a batch takes a
/// number of operations that does not grow with W n:
///
/// ```text
/// x_t = z_t + lambda x_{t+1} - lambda^n z_{t+n}        y'_t = lambda y'_{t-1} + z_{t+n} - lambda^n z_t
/// ```
///
/// Neither enlarges the rounding errors of the one before. As y' needs its past, it is summed anew for the first of
/// [`TRACES`] windows, and those of the others are kept until they are reached.
#[inline(always)]
pub(super) fn gained_and_lost<'a, S: Scalar>(
    windows: &Windows<S>,
    t: usize,
    lambda: Option<S>,
    [x, y, trace_x, z]: [&'a mut [S]; 4],
    traces: &'a mut [S],
) -> [OuterProduct<'a, S>; 2] {
    let (n, d, k) = (windows.context_len(), windows.dim(), traces.len() / TRACES);
    windows.write_token(d, t, x);
    windows.write_token(d, t + n, y);
    let Some(lambda) = lambda else { return [[x, x], [y, y]] };
    let (decayed, later) = (power(lambda, n as u64), windows.count().saturating_sub(t + 1));
    if later == 0 {
        trace_x.fill(S::ZERO);
        for j in (t..t + n).rev() {
            windows.write_token(d, j, z);
            add_to_trace(trace_x, lambda, z);
        }
    } else {
        add_to_trace(trace_x, lambda, x);
        subtract(trace_x, decayed, y);
    }
    // The windows whose traces are kept together: `first` to `t + later % TRACES`.
    let first = (t + later % TRACES + 1).saturating_sub(TRACES);
    if later.is_multiple_of(TRACES) {
        for of in first..=t {
            let (before, trace) = traces.split_at_mut_checked((of - first) * k).unwrap_or_default();
            let trace = trace.get_mut(..k).unwrap_or_default();
            match of.checked_sub(first + 1) {
                None => {
                    trace.fill(S::ZERO);
                    for j in of + 1..=of + n {
                        windows.write_token(d, j, z);
                        add_to_trace(trace, lambda, z);
                    }
                }
                Some(last) => {
                    let last = before.get(last * k..).unwrap_or_default();
                    for (to, from) in trace.iter_mut().zip(last) {
                        *to = *from;
                    }
                    windows.write_token(d, of + n, z);
                    add_to_trace(trace, lambda, z);
                    windows.write_token(d, of, z);
                    subtract(trace, decayed, z);
                }
            }
        }
    }
    let trace_y = traces.get((t - first) * k..).and_then(|traces| traces.get(..k));
    [[trace_x, x], [y, trace_y.unwrap_or_default()]]
}

#[inline(always)]
fn subtract<S: Scalar>(e: &mut [S], s: S, z: &[S]) {
    for (e, z) in e.iter_mut().zip(z) {
        keep_apart::<S>();
        *e -= s * *z;
    }
}

#[inline(always)]
fn add_to_trace<S: Scalar>(e: &mut [S], decay: S, z: &[S]) {
    for (e, z) in e.iter_mut().zip(z) {
        keep_apart::<S>();
        *e = decay * *e + *z;
    }
}
