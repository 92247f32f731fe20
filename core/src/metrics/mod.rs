//! The distance of a trained transformer from TD, and the TD that it is closest to.
//!
//! [`form`]: which construction P and Q are, block by block, and what they look like (App. "Element-wise
//! Convergence Metrics"); [`comparison`]: what the value function does, against batch TD's (App. "Trained Transformer and
//! Batch TD BatchTdComparison Metrics").
//!
//! ```
//! use ictd_core::constructions::{scaled_identity, td0};
//! use ictd_core::mask::Td0;
//! use ictd_core::metrics::{EvaluationStates, batch_td};
//! use ictd_core::tasks::{Mrp, Task, boyan_chain};
//! use ictd_core::{prompt::Prompt, rng::Rng, statistic::Statistic, transformer::Transformer};
//!
//! let rng = &mut Rng::new(1);
//! let chain: Mrp<f64, 2, 10> = boyan_chain(10, 2, rng)?;
//! let transitions = chain.trajectory::<30>(30, rng)?;
//! let prompt = Prompt::<f64, 5, 30>::discounted(&transitions, 0.9, &chain.feature_map()[0])?;
//! let statistic = Statistic::from_prompt(&prompt, &Td0)?;
//! // Theorem 1's transformer is batch TD.
//! let transformer = Transformer::<_, 1>::autoregressive(td0::<_, 2, 5>(&scaled_identity(0.5)), 3)?;
//! let (v_tf, v_td) = (transformer.value_function(&statistic)?, batch_td(&statistic, 0.5, 3)?);
//! let states = EvaluationStates::from_mrp(&chain)?;
//! let comparison = states.compare(&states.sample_linear(&v_tf), &v_tf.weights, &v_td);
//! assert!(comparison.vd < 1e-20 && comparison.iws > 0.999_999);
//! # Ok::<(), ictd_core::Error>(())
//! ```

pub mod comparison;
pub mod form;

pub use comparison::{BatchTdComparison, EvaluationStates, ValueSample, batch_td};
pub use form::{ElementwiseMetrics, FORM_DISTANCE, LayerBlocks, Pattern};
