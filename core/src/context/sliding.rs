use super::{Context, checked};
use crate::attention::Mask;
use crate::error::Error;
use crate::linalg::{add_outer, add_scaled, zeros};
use crate::mask::{MeanCentred, Td0, TdLambda, Trace};
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transition::{Transition, check_discount, token};
use heapless::Deque;
use nalgebra::{SMatrix, SVector};

/// How a mask's statistic loses its oldest token.
pub trait SlidingMask<S: Scalar, const K: usize>: Mask<S, K> {
    /// Removes the oldest token from G and from the state; `window` holds the tokens, oldest
    /// first. Returns false if this mask has no such update: then G is made anew from the window
    /// whenever it is read.
    fn remove_oldest<const N: usize>(
        &self,
        g: &mut SMatrix<S, K, K>,
        state: &mut Self::State,
        window: &Deque<SVector<S, K>, N>,
    ) -> bool;
}

impl<S: Scalar, const K: usize> SlidingMask<S, K> for Td0 {
    fn remove_oldest<const N: usize>(
        &self,
        g: &mut SMatrix<S, K, K>,
        _: &mut (),
        window: &Deque<SVector<S, K>, N>,
    ) -> bool {
        if let Some(oldest) = window.front() {
            add_outer(g, &-oldest, oldest);
        }
        true
    }
}

impl<S: Scalar, const K: usize> SlidingMask<S, K> for TdLambda<S> {
    /// G loses (sum_r lambda^r z_r) z_0^T, the trace lambda^(n-1) z_0: O(K^2 + N K).
    fn remove_oldest<const N: usize>(
        &self,
        g: &mut SMatrix<S, K, K>,
        trace: &mut Trace<S, K>,
        window: &Deque<SVector<S, K>, N>,
    ) -> bool {
        let Some(oldest) = window.front() else { return true };
        let lambda = self.lambda();
        let mut ahead = zeros::<S, K, 1>();
        let mut decay = S::ONE;
        for (r, z) in window.iter().rev().enumerate() {
            let mut sum = *z;
            add_scaled(&mut sum, lambda, &ahead);
            ahead = sum;
            if r > 0 {
                decay *= lambda;
            }
        }
        add_outer(g, &-ahead, oldest);
        add_scaled(&mut trace.e, -decay, oldest);
        true
    }
}

impl<S: Scalar, const K: usize> SlidingMask<S, K> for MeanCentred {
    /// Every running mean of the window changes when its first token goes: no update in O(K^2).
    fn remove_oldest<const N: usize>(
        &self,
        _: &mut SMatrix<S, K, K>,
        _: &mut Self::State,
        _: &Deque<SVector<S, K>, N>,
    ) -> bool {
        false
    }
}

/// The context of the last N transitions: exactly a prompt of those, as in Algorithm 1.
///
/// Adding the new and subtracting the dropped token alone would drift (in `f32` by 2.5e-4 of the
/// largest entry after 100,000 transitions). So a second sum runs beside it, made by addition only;
/// every N transitions it holds exactly the window, replaces the first, and starts again at 0.
/// The error is that of at most N slides, whatever the length of the stream. Memory: N tokens and
/// two statistics. For [`MeanCentred`] reading the statistic costs O(N K^2).
#[derive(Clone, Debug, PartialEq)]
pub struct Sliding<S: Scalar, const D: usize, const K: usize, const N: usize, M: Mask<S, K>> {
    gamma: S,
    mask: M,
    window: Deque<SVector<S, K>, N>,
    current: Sum<S, K, M>,
    /// The transitions since the last replacement.
    fresh: Sum<S, K, M>,
    fresh_len: usize,
    /// False once the mask declined to remove a token: `current` is then made from the window.
    slides: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sum<S: Scalar, const K: usize, M: Mask<S, K>> {
    g: SMatrix<S, K, K>,
    state: M::State,
}

impl<S: Scalar, const K: usize, M: Mask<S, K>> Sum<S, K, M> {
    fn new(mask: &M) -> Self {
        Sum { g: zeros(), state: mask.initial_state() }
    }

    fn add(&mut self, mask: &M, z: &SVector<S, K>) {
        let (left, right) = mask.factors(&mut self.state, z, S::ONE);
        add_outer(&mut self.g, &left, &right);
    }
}

impl<S: Scalar, const D: usize, const K: usize, const N: usize, M: SlidingMask<S, K>>
    Sliding<S, D, K, N, M>
{
    /// An empty window for a discount gamma in [0, 1); in the average-reward setting
    /// (K = 2 D + 2) gamma is 1.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `gamma`.
    pub fn new(gamma: S, mask: M) -> Result<Self, Error> {
        const {
            assert!(N > 0, "a sliding window needs room for one transition: N >= 1");
        }
        Ok(Sliding {
            gamma: check_discount::<S, D, K>(gamma)?,
            mask,
            window: Deque::new(),
            current: Sum::new(&mask),
            fresh: Sum::new(&mask),
            fresh_len: 0,
            slides: true,
        })
    }

    /// The discount gamma.
    pub fn gamma(&self) -> S {
        self.gamma
    }
}

impl<S: Scalar, const D: usize, const K: usize, const N: usize, M: SlidingMask<S, K>>
    Context<S, D, K> for Sliding<S, D, K, N, M>
{
    fn observe_transition(&mut self, transition: &Transition<S, D>) -> Result<(), Error> {
        transition.check()?;
        let z = token::<S, D, K>(transition, self.gamma);
        if self.window.is_full() {
            let Sum { g, state } = &mut self.current;
            self.slides = self.mask.remove_oldest(g, state, &self.window);
            self.window.pop_front();
        }
        self.window
            .push_back(z)
            .map_err(|_| Error::CapacityExceeded { parameter: "context", capacity: N })?;
        if self.slides {
            self.current.add(&self.mask, &z);
            self.fresh.add(&self.mask, &z);
            self.fresh_len += 1;
            if self.fresh_len == N {
                self.current = self.fresh;
                self.fresh = Sum::new(&self.mask);
                self.fresh_len = 0;
            }
        }
        Ok(())
    }

    fn len(&self) -> u64 {
        self.window.len() as u64
    }

    fn clear(&mut self) {
        self.window.clear();
        self.current = Sum::new(&self.mask);
        self.fresh = Sum::new(&self.mask);
        self.fresh_len = 0;
        self.slides = true;
    }

    fn statistic(&self) -> Result<Statistic<S, K>, Error> {
        let len = self.len();
        let g = if self.slides {
            self.current.g
        } else {
            let mut sum = Sum::new(&self.mask);
            for z in &self.window {
                sum.add(&self.mask, z);
            }
            sum.g
        };
        checked(g, len, S::from_count(len))
    }
}
