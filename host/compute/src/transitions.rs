//! A complete set of transitions.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpisodeEnd {
    /// The next row continues it.
    Continues,
    /// The next state is terminal (`terminal`).
    Terminal,
    /// The episode is truncated here (`end`).
    End,
}

impl EpisodeEnd {
    pub fn from_marks(terminal: bool, end: bool) -> Self {
        let open = if end { EpisodeEnd::End } else { EpisodeEnd::Continues };
        if terminal { EpisodeEnd::Terminal } else { open }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transitions {
    pub d: usize,
    /// Features of states, (rows, d).
    pub phi: Vec<f64>,
    /// The row of `phi` that each transition leaves, (n).
    pub from: Vec<usize>,
    /// The rewards, (n).
    pub reward: Vec<f64>,
    /// The next features, (n, d): 0 for a terminal state.
    pub phi_next: Vec<f64>,
    /// How the episode continues after each transition, (n).
    pub marks: Vec<EpisodeEnd>,
    /// Importance ratios pi(A|S) / b(A|S) of the target and the behaviour policy, (n); `None` if all are 1.
    pub rho: Option<Vec<f64>>,
}

impl Transitions {
    pub fn len(&self) -> usize {
        self.reward.len()
    }

    pub fn is_empty(&self) -> bool {
        self.reward.is_empty()
    }

    pub fn episodes(&self) -> usize {
        let ended = self.marks.iter().filter(|mark| **mark != EpisodeEnd::Continues).count();
        ended + usize::from(self.marks.last() == Some(&EpisodeEnd::Continues))
    }

    pub fn weight(&self, i: usize) -> f64 {
        self.rho.as_ref().map_or(1.0, |rho| rho[i])
    }
}
