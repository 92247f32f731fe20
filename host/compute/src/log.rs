//! The log of a seed: the measurements while it trains, and at its end.

use ictd_core::layer::Layer;
use nalgebra::SMatrix;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One log point: the metrics and parameters after a number of tasks. Metrics that a network or a task
/// does not have are NaN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogPoint {
    pub tasks: u64,
    /// The learning rate of the batch-TD reference, trained alongside.
    pub alpha: f64,
    /// The loss of the last batch, before its update.
    pub loss: f64,
    /// Value difference.
    pub vd: f64,
    /// Implicit weight similarity.
    pub iws: f64,
    /// Sensitivity similarity.
    pub ss: f64,
    /// Mean squared value error against the true values.
    pub msve: f64,
    /// One entry per stored layer of a transformer; empty for an RNN.
    pub layers: Vec<Matrices>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matrices {
    /// P, (K, K), row-major.
    pub p: Vec<f32>,
    /// Q, (K, K), row-major.
    pub q: Vec<f32>,
    pub element: Element,
}

impl Matrices {
    pub fn to_layer<const K: usize>(&self) -> Layer<f64, K> {
        let numbers = |m: &[f32]| SMatrix::from_row_iterator(m.iter().map(|x| f64::from(*x)));
        Layer { p: numbers(&self.p), q: numbers(&self.q) }
    }
}

pub use ictd_core::metrics::ElementwiseMetrics as Element;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedRun {
    pub seed: u64,
    /// Digest of the final parameters' bits, 16 hexadecimal digits.
    pub digest: String,
    /// K = 2d + 1.
    pub token_size: usize,
    /// All final parameters in the core's order.
    pub parameters: Vec<f32>,
    /// The log; the last point is the end of the run.
    pub points: Vec<LogPoint>,
}

impl SeedRun {
    /// Returns true if every P and Q of the log has K rows and columns, which all readers rely on.
    pub fn has_whole_matrices(&self) -> bool {
        let entries = self.token_size.checked_mul(self.token_size);
        let whole = |m: &Matrices| Some(m.p.len()) == entries && Some(m.q.len()) == entries;
        let layers = self.points.first().map_or(0, |p| p.layers.len());
        self.points.iter().all(|p| p.layers.len() == layers && p.layers.iter().all(whole))
    }

    pub fn last(&self) -> Option<&LogPoint> {
        self.points.last()
    }

    /// Returns the number of tasks at the first log point with NaN or infinite parameters, if they are so at the end of the
    /// run.
    pub fn diverged(&self) -> Option<u64> {
        if self.parameters.iter().all(|x| x.is_finite()) {
            return None;
        }
        let finite = |p: &LogPoint| {
            let matrices = p.layers.iter().flat_map(|m| m.p.iter().chain(&m.q));
            p.loss.is_finite() && matrices.into_iter().all(|x| x.is_finite())
        };
        self.points.iter().find(|p| !finite(p)).or(self.last()).map(|p| p.tasks).or(Some(0))
    }

    /// Returns this seed's part of `--json`. Element-wise metrics are numbers, or lists over the
    /// layers if these have their own parameters; a metric that is not defined is null.
    pub fn to_value(&self, sequential: bool) -> Value {
        let mut value = json!({ "seed": self.seed, "digest": self.digest });
        if self.diverged().is_some() {
            value["diverged"] = json!(true);
        }
        let Some(last) = self.last() else { return value };
        for Metric { name, of, .. } in ELEMENTS {
            let mut values = last.layers.iter().map(|m| of(&m.element));
            value[name] = if sequential { values.collect() } else { json!(values.next()) };
        }
        for Metric { name, of, .. } in METRICS {
            value[name] = json!(of(last));
        }
        value
    }
}

/// A metric of a T: a [`LogPoint`], or a layer's [`Element`].
pub struct Metric<T> {
    /// The name in every file.
    pub name: &'static str,
    /// The name in figures and tables.
    pub label: &'static str,
    /// The value; NaN where it is not defined.
    pub of: fn(&T) -> f64,
}

macro_rules! metrics {
    ($all:ident: [$t:ty; $count:literal], $($metric:ident $name:ident $label:literal)*) => {
        $(
            pub const $metric: Metric<$t> =
                Metric { name: stringify!($name), label: $label, of: |x| x.$name };
        )*
        pub const $all: [Metric<$t>; $count] = [$($metric),*];
    };
}

metrics! { METRICS: [LogPoint; 6],
    ALPHA alpha "alpha"
    LOSS loss "loss"
    VD vd "VD"
    IWS iws "IWS"
    SS ss "SS"
    MSVE msve "MSVE"
}

metrics! { ELEMENTS: [Element; 5],
    P_BOTTOM_RIGHT p_bottom_right "P[−1, −1]"
    P_OTHERS p_avg_abs_others "mean |others|"
    Q_LEFT q_trace_upper_left "tr Q[:d, :d]"
    Q_RIGHT q_trace_upper_right "tr Q[:d, d:2d]"
    Q_OTHERS q_avg_abs_others "mean |others|"
}
