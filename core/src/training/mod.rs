//! Multi-task temporal-difference learning (Algorithm 1): the training under which in-context TD
//! emerges.
//!
//! A [`MultiTaskTd`] draws tasks from a [`TaskDistribution`], samples trajectories, sees each as
//! sliding [`Windows`], and improves a [`Network`] by the semi-gradient of the squared TD error.
//! Nothing is allocated; everything is generic over the scalar, so that one program trains one
//! `f32` network on a chip or sixteen seeds side by side in the lanes of a register, each lane bit
//! for bit the network that its seed trains alone.
//!
//! | part | file |
//! |---|---|
//! | trajectories and windows | `windows` |
//! | what is trained: parameters, values, gradients | `network`, `parameters` |
//! | transformers of either attention | `attention_network` |
//! | linear attention, and its batch at speed | `linear`, `linear_batch` |
//! | softmax attention, and what a batch's windows share | `softmax` |
//! | the recurrent network | `rnn` |
//! | the batch-TD reference with its trained step size | `batch_td` |
//! | Adam, plain TD | `adam`, `settings` |
//! | where tasks come from | `task_distribution` |
//! | Algorithm 1, mini-batch and per-window | `trainer` |
//! | saved and restored state | `checkpoint` |

mod adam;
mod attention_network;
mod batch_td;
mod checkpoint;
mod linear;
mod linear_batch;
mod network;
mod parameters;
mod rnn;
mod settings;
mod softmax;
mod task_distribution;
mod trainer;
mod windows;

pub use adam::{Adam, AdamSettings};
pub use attention_network::AttentionNetwork;
pub use batch_td::{BatchTd, TdSystem};
pub use checkpoint::{ByteReader, put_scalar};
pub use linear::{Autoregressive, Linear, LinearNetwork, Sequential};
pub use network::{Network, Targets, batch_gradient_by_window, td_step};
pub use parameters::{AttentionParameters, Parameters};
pub use rnn::RnnNetwork;
pub use settings::{Loss, Optimizer, Settings};
pub use softmax::{Softmax, SoftmaxNetwork};
pub use task_distribution::{CartPoleTasks, FiniteTask, FiniteTasks, TaskDistribution};
pub use trainer::MultiTaskTd;
pub use windows::{Trajectory, Window, Windows};

#[cfg(test)]
mod tests;
