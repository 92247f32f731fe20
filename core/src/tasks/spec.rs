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

/// One row per task: its variant, its name, its meaning, its kind (`actions` are a random MDP's).
macro_rules! task_specs {
    ($actions:ident; $($(#[$doc:meta])* $variant:ident $name:literal $meaning:literal $kind:expr;)*) => {
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

task_specs! { actions;
    BoyanChain "boyan" "Boyan's chain with random rewards (Algorithm 2)"
        TaskKind::Finite(FiniteTaskKind::BoyanChain);
    BoyanChainRepresentable "boyan-representable"
        "Boyan's chain with a representable value function (Algorithm 3)"
        TaskKind::Finite(FiniteTaskKind::BoyanChainRepresentable);
    RandomMdp "mdp" "a random MDP under a random policy, value representable"
        TaskKind::Finite(FiniteTaskKind::RandomMdp { actions });
    Loop "loop" "the Loop MRP of the authors' code, value representable"
        TaskKind::Finite(FiniteTaskKind::Loop { threshold: 0.5 });
    CartPole "cartpole" "CartPole with four tilings (Algorithm 4)" cart_pole(4, 2, false);
    CartPoleAuthors "cartpole-authors" "CartPole as in the authors' code: one grid of 16 cells, reward of the next state"
        cart_pole(1, 2, true);
    CartPoleUniform "cartpole-uniform" "CartPole with one tiling of 256 tiles: features and rewards uniform in (-1, 1)"
        cart_pole(1, 4, false);
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
