//! The names of the task distributions.

use super::FiniteTaskKind;
use crate::error::{Error, Result};
use core::str::FromStr;

/// The kind of a named distribution, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TaskKind {
    /// A finite task, for a [`FiniteTaskDistribution`](super::FiniteTaskDistribution).
    Finite(FiniteTaskKind),
    /// CartPole, for a [`CartPoleDistribution`](super::CartPoleDistribution).
    CartPole {
        /// The number of tilings.
        tilings: u16,
        /// Tiles per dimension.
        tiles: u16,
        /// The authors' variant of the physics and the rewards.
        authors_variant: bool,
    },
}

/// The numbers of states that a task may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateCounts {
    /// The fewest.
    pub least: usize,
    /// The most.
    pub most: usize,
    /// The number unless another is given.
    pub default: usize,
}

/// One row per task: its variant, its name, its meaning, its name in the authors' code (which weights the samples of
/// representable values), its numbers of states (of a finite task), and its kind (`actions` are a random MDP's).
macro_rules! task_specs {
    ($actions:ident; $($(#[$doc:meta])* $variant:ident $name:literal $meaning:literal
        $class:literal $representable:literal $states:expr, $kind:expr;)*) => {
        /// A named distribution of tasks: the one place where names are parsed and printed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum TaskSpec {
            $($(#[$doc])* #[doc = concat!($meaning, ": `", $name, "`.")] $variant,)*
        }

        impl TaskSpec {
            /// Every distribution, in the order of help texts.
            pub const ALL: &[TaskSpec] = &[$(TaskSpec::$variant),*];

            /// The names of [`TaskSpec::ALL`].
            pub const NAMES: &[&str] = &[$($name),*];

            /// Returns the name.
            pub const fn name(self) -> &'static str {
                match self { $(TaskSpec::$variant => $name),* }
            }

            /// Returns the name in the authors' code.
            pub const fn authors_class(self) -> &'static str {
                match self { $(TaskSpec::$variant => $class),* }
            }

            /// Returns true if the true value function is <w*, phi(s)> for some w*.
            pub const fn is_representable(self) -> bool {
                match self { $(TaskSpec::$variant => $representable),* }
            }

            /// Returns the numbers of states of a finite task; `None` for one with infinitely many.
            pub const fn states(self) -> Option<StateCounts> {
                match self { $(TaskSpec::$variant => $states),* }
            }

            /// Returns the kind; `actions` is the number of actions of a random MDP.
            pub const fn kind(self, $actions: usize) -> TaskKind {
                match self { $(TaskSpec::$variant => $kind),* }
            }
        }
    };
}

const fn cart_pole(tilings: u16, tiles: u16, authors_variant: bool) -> TaskKind {
    TaskKind::CartPole { tilings, tiles, authors_variant }
}

/// Every number from 2, which the chain needs; 10 as in the paper.
const TEN: Option<StateCounts> = Some(StateCounts { least: 2, most: usize::MAX, default: 10 });

task_specs! { actions;
    BoyanChain "boyan" "Boyan's chain with random rewards (Algorithm 2)"
        "boyan" false TEN, TaskKind::Finite(FiniteTaskKind::BoyanChain);
    BoyanChainRepresentable "boyan-representable"
        "Boyan's chain with a representable value function (Algorithm 3)"
        "boyan" true TEN, TaskKind::Finite(FiniteTaskKind::BoyanChainRepresentable);
    RandomMdp "mdp" "a random MDP under a random policy, value representable"
        "mdp" true TEN, TaskKind::Finite(FiniteTaskKind::RandomMdp { actions });
    Loop "loop" "the Loop MRP of the authors' code, value representable"
        "loop" true TEN, TaskKind::Finite(FiniteTaskKind::Loop { threshold: 0.5 });
    CartPole "cartpole" "CartPole with four tilings (Algorithm 4)"
        "cartpole" false None, cart_pole(4, 2, false);
    CartPoleAuthors "cartpole-authors" "CartPole as in the authors' code: one grid of 16 cells, reward of the next state"
        "cartpole" false None, cart_pole(1, 2, true);
    CartPoleUniform "cartpole-uniform" "CartPole with one tiling of 256 tiles: features and rewards uniform in (-1, 1)"
        "cartpole" false None, cart_pole(1, 4, false);
}

impl TaskSpec {
    /// Returns the kind of a finite task; `None` for a task with infinitely many states.
    pub const fn finite(self, actions: usize) -> Option<FiniteTaskKind> {
        match self.kind(actions) {
            TaskKind::Finite(kind) => Some(kind),
            TaskKind::CartPole { .. } => None,
        }
    }
}

impl FromStr for TaskSpec {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = TaskSpec::ALL.iter().find(|spec| spec.name() == name).copied();
        found.ok_or(Error::OutOfRange { parameter: "task", expected: "a name of TaskSpec::NAMES" })
    }
}
