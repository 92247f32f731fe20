//! Multi-task temporal-difference learning (Algorithm 1): the training under which in-context TD
//! emerges.
//!
//! A [`MultiTaskTd`] draws tasks from a [`TaskDistribution`](crate::tasks::TaskDistribution), samples trajectories, sees each as
//! sliding [`Windows`], and improves a [`Network`] by the semi-gradient of the squared TD error.
//! Nothing is allocated; everything is generic over the scalar, so that one program trains one
//! `f32` network on a chip or eight seeds side by side in the lanes of a register, each lane bit
//! for bit the network that its seed trains alone.
//!
//! On the stream that a device sees, without simulated tasks, a [`StreamTd`] learns to value the stream's own states:
//!
//! ```
//! use ictd_core::{Context, Model};
//! use ictd_core::model::ConstructionSettings;
//! use ictd_core::training::{StreamTd, StreamTdSettings};
//!
//! // It begins with Theorem 1's weights: two features, three layers, contexts of 16 transitions.
//! let start = Model::<2>::td0(ConstructionSettings::new(0.9).step_size(1.0).depth(3))?;
//! let settings = StreamTdSettings::default().gamma(0.9);
//! let mut trainer = StreamTd::<f32, 2, 5, 3, 18>::new(settings, start.transformer().layers()[0])?;
//! let mut context = Context::<2>::new();
//! let mut phi = [0.5, -0.25];
//! for _ in 0..100 {
//!     let (reward, next) = (0.75, [phi[1], -phi[0]]);
//!     trainer.observe(&next, reward)?;
//!     context.observe(&phi, reward, &next)?;
//!     phi = next;
//! }
//! let statistic = context.statistic(0.9, 0)?;
//! let value = StreamTd::<f32, 2, 5, 3, 18>::value_function(*trainer.layer(), statistic)?.at(&phi);
//! # assert!(value.is_finite());
//! # Ok::<(), ictd_core::Error>(())
//! ```

mod adam;
mod batch_td;
mod checkpoint;
mod linear;
mod multi_task_td;
mod network;
mod rnn;
mod settings;
mod softmax;
mod stream;
mod windows;

pub use adam::Adam;
pub use batch_td::BatchTdReference;
pub use linear::{LinearNetwork, LinearShape};
pub use multi_task_td::MultiTaskTd;
pub use network::{
    Network, Parameters, Storage, Targets, batch_gradient_by_window, td_errors, td_update,
};
pub use rnn::{LayerInput, Rnn, RnnLayer};
pub use settings::{AdamSettings, Loss, Optimizer, TrainerSettings};
pub use softmax::{SoftmaxNetwork, SoftmaxParameters};
pub use stream::{StreamTd, StreamTdSettings};
pub use windows::{TrajectoryBuffer, Window, Windows};
