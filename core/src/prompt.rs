//! The prompt: transitions as columns of Z_0, and the query.

use crate::error::{Error, Result, ensure};
use crate::linalg::{add_outer, add_scaled, check_finite, mul_vector, zeros};
use crate::mask::{Entrywise, Mask};
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transition::{Transition, check_discount, query_token, token};
use heapless::Vec;
use nalgebra::{SMatrix, SVector};

/// The prompt Z, (K, n + 1): n context columns and the query as the last column.
///
/// ```
/// use ictd_core::attention::{Linear, Td0};
/// use ictd_core::constructions::{scaled_identity, td0};
/// use ictd_core::nalgebra::SVector;
/// use ictd_core::{prompt::Prompt, transformer::Transformer, transition::Transition};
///
/// let phi = SVector::from([1.0]);
/// let transitions = [Transition { phi, reward: 1.0, phi_next: phi }];
/// let prompt = Prompt::<f64, 3, 8>::discounted(&transitions, 0.5, &phi)?;
/// assert_eq!((prompt.column(0)[1], prompt.column(0)[2]), (0.5, 1.0));
///
/// // One step of TD(0) with alpha = 0.25, by the paper's equations.
/// let transformer = Transformer::<_, 1>::autoregressive(td0(&scaled_identity::<_, 1>(0.25)), 1)?;
/// assert_eq!(transformer.value(&prompt, &Linear(Td0))?, 0.25);
/// # Ok::<(), ictd_core::Error>(())
/// ```
///
/// A K that does not fit the features fails the build, with a message that says what to write:
///
/// ```compile_fail
/// use ictd_core::prompt::Prompt;
/// use nalgebra::SVector;
///
/// let phi = SVector::from([0.5, -0.5]);
/// let _ = Prompt::<f64, 6, 8>::discounted(&[], 0.9, &phi); // d = 2: K = 5
/// ```
///
/// N is the capacity, n the number of columns that are there. Theorem 1's Z_0 comes from
/// [`Prompt::discounted`], the average-reward one from [`Prompt::average_reward`].
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt<S: Scalar, const K: usize, const N: usize> {
    context: Vec<SVector<S, K>, N>,
    /// The query column. With one that is not finite the value is not finite either.
    pub query: SVector<S, K>,
}

impl<S: Scalar, const K: usize, const N: usize> Prompt<S, K, N> {
    /// Returns a prompt from its columns, whatever they hold.
    /// Returns [`Error::CapacityExceeded`] beyond N columns, [`Error::NonFinite`] for NaN or an infinity.
    pub fn from_columns(context: &[SVector<S, K>], query: SVector<S, K>) -> Result<Self> {
        const {
            assert!(K > 0, "a token has at least one entry: K >= 1");
        }
        let mut prompt = Prompt { context: Vec::new(), query };
        check_finite(&query, "query")?;
        for z in context {
            check_finite(z, "context column")?;
            prompt.push(*z)?;
        }
        Ok(prompt)
    }

    /// Returns Z_0 of Theorem 1 (eq. "Z_0 P Q TD define") for any query: columns
    /// (phi_{j-1}; gamma phi_j; R_j) and (phi; 0; 0).
    /// Returns [`Error::OutOfRange`] for gamma outside [0, 1), [`Error::CapacityExceeded`] beyond N transitions,
    /// [`Error::NonFinite`] for NaN or an infinity.
    pub fn discounted<const D: usize>(
        transitions: &[Transition<S, D>],
        gamma: S,
        query: &SVector<S, D>,
    ) -> Result<Self> {
        const {
            assert!(K == 2 * D + 1, "a discounted prompt has tokens of size K = 2 * D + 1");
        }
        Self::from_transitions(transitions, check_discount::<S, D, K>(gamma)?, query)
    }

    /// Returns Z_0 of the average-reward theorem for any query: columns (phi_{j-1}; phi_j; R_j; 0) and
    /// (phi; 0; 0; 0), the last row being memory.
    /// Returns [`Error::CapacityExceeded`] beyond N transitions, [`Error::NonFinite`] for NaN or an infinity.
    pub fn average_reward<const D: usize>(
        transitions: &[Transition<S, D>],
        query: &SVector<S, D>,
    ) -> Result<Self> {
        const {
            assert!(K == 2 * D + 2, "an average-reward prompt has tokens of size K = 2 * D + 2");
        }
        Self::from_transitions(transitions, S::ONE, query)
    }

    fn from_transitions<const D: usize>(
        transitions: &[Transition<S, D>],
        gamma: S,
        query: &SVector<S, D>,
    ) -> Result<Self> {
        check_finite(query, "query")?;
        let mut prompt = Prompt { context: Vec::new(), query: query_token(query) };
        for transition in transitions {
            transition.check()?;
            prompt.push(token(transition, gamma))?;
        }
        Ok(prompt)
    }

    fn push(&mut self, z: SVector<S, K>) -> Result<()> {
        self.context.push(z).map_err(|_| Error::capacity("context", N))
    }

    /// Returns the context columns z_1, ..., z_n.
    pub fn context(&self) -> &[SVector<S, K>] {
        &self.context
    }

    /// Returns n, the number of context columns.
    pub fn context_len(&self) -> usize {
        self.context.len()
    }

    /// Returns column c of Z, the query for c >= n.
    pub fn column(&self, c: usize) -> &SVector<S, K> {
        self.context.get(c).unwrap_or(&self.query)
    }

    pub(crate) fn columns_mut(&mut self) -> impl Iterator<Item = &mut SVector<S, K>> {
        self.context.iter_mut().chain(core::iter::once(&mut self.query))
    }

    /// Computes Z += s P A, column by column.
    pub fn add_columns(&mut self, s: S, p: &SMatrix<S, K, K>, a: &Self) {
        for (c, z) in self.columns_mut().enumerate() {
            add_scaled(z, s, &mul_vector(p, a.column(c)));
        }
    }

    /// Returns 1/n, the normalisation of eq. "Z_l update", or [`Error::Empty`] if there is no context.
    pub fn inverse_len(&self) -> Result<S> {
        ensure(!self.context.is_empty(), Error::Empty { parameter: "context" })?;
        Ok(S::ONE / S::from_count(self.context.len() as u64))
    }

    /// Returns the output convention (eq. "tf output convention") on this Z: minus the bottom-right element.
    pub fn output(&self) -> S {
        -self.query[K - 1]
    }
}

impl<S: Scalar, const K: usize> Statistic<S, K> {
    /// Returns the statistic of a prompt's context under a mask, or [`Error::Empty`] if the prompt has no context.
    pub fn from_prompt<const N: usize>(
        prompt: &Prompt<S, K, N>,
        mask: &impl Mask<S>,
    ) -> Result<Self> {
        Self::from_columns(prompt.context().iter().copied(), mask)
    }

    /// Returns the statistic of context columns under a mask, or [`Error::Empty`] if there is no column.
    pub fn from_columns(
        columns: impl ExactSizeIterator<Item = SVector<S, K>>,
        mask: &impl Mask<S>,
    ) -> Result<Self> {
        ensure(columns.len() != 0, Error::Empty { parameter: "context" })?;
        let inverse_len = S::ONE / S::from_count(columns.len() as u64);
        let mut g = zeros();
        let mut state = Entrywise::ZERO;
        for z in columns {
            let (left, right) = mask.rank_one_update(&mut state, &z.data.0[0], S::ONE);
            add_outer(&mut g, &left.into(), &right.into());
        }
        Ok(Statistic { g, inverse_len })
    }
}
