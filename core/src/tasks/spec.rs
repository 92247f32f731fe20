//! The names of the task distributions.

use super::FiniteTaskKind;
use crate::error::{Error, Result};
use core::fmt;
use core::str::FromStr;

/// A named distribution of tasks: the one place where names are parsed and printed.
///
/// ```
/// use ictd_core::tasks::TaskSpec;
///
/// let spec: TaskSpec = "boyan".parse()?;
/// assert_eq!((spec, spec.name()), (TaskSpec::BoyanChain, "boyan"));
/// assert!("bojan".parse::<TaskSpec>().is_err());
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum TaskSpec {
    /// Boyan's chain with random rewards (Algorithm 2): `boyan`.
    BoyanChain,
    /// Boyan's chain with a representable value function (Algorithm 3): `boyan-representable`.
    BoyanChainRepresentable,
    /// A random MDP under a random policy, value representable: `mdp`.
    RandomMdp,
    /// The Loop MRP of the authors' code, value representable: `loop`.
    Loop,
    /// CartPole with four tilings (Algorithm 4): `cartpole`.
    CartPole,
    /// CartPole as in the authors' code, one grid of 16 cells, reward of the next state: `cartpole-authors`.
    CartPoleAuthors,
    /// CartPole with one tiling of 256 tiles, features and rewards uniform in (-1, 1): `cartpole-uniform`.
    CartPoleUniform,
}

use TaskSpec::*;

impl TaskSpec {
    /// Every distribution, in the order of help texts.
    pub const ALL: &[TaskSpec] = &[
        BoyanChain,
        BoyanChainRepresentable,
        RandomMdp,
        Loop,
        CartPole,
        CartPoleAuthors,
        CartPoleUniform,
    ];

    /// The names of [`TaskSpec::ALL`].
    pub const NAMES: &[&str] = &[
        "boyan",
        "boyan-representable",
        "mdp",
        "loop",
        "cartpole",
        "cartpole-authors",
        "cartpole-uniform",
    ];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns the kind of a finite task, `actions` of them in a random MDP; `None` for CartPole.
    pub const fn finite(self, actions: usize) -> Option<FiniteTaskKind> {
        match self {
            BoyanChain => Some(FiniteTaskKind::BoyanChain),
            BoyanChainRepresentable => Some(FiniteTaskKind::BoyanChainRepresentable),
            RandomMdp => Some(FiniteTaskKind::RandomMdp { actions }),
            Loop => Some(FiniteTaskKind::Loop { threshold: 0.5 }),
            _ => None,
        }
    }

    /// Returns CartPole's number of tilings, tiles per dimension, and whether it is the authors' variant of the physics and
    /// the rewards; `None` for a finite task.
    pub const fn cart_pole(self) -> Option<(u16, u16, bool)> {
        match self {
            CartPole => Some((4, 2, false)),
            CartPoleAuthors => Some((1, 2, true)),
            CartPoleUniform => Some((1, 4, false)),
            _ => None,
        }
    }
}

impl fmt::Display for TaskSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TaskSpec {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = TaskSpec::ALL.iter().find(|spec| spec.name() == name).copied();
        found.ok_or(Error::OutOfRange { parameter: "task", expected: "a name of TaskSpec::NAMES" })
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for TaskSpec {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
