//! Multi-task temporal-difference learning (Algorithm 1): the training under which in-context TD
//! emerges.
//!
//! A [`MultiTaskTd`] draws tasks from a [`TaskDistribution`](crate::tasks::TaskDistribution), samples trajectories, sees each as
//! sliding [`Windows`], and improves a [`Network`] by the semi-gradient of the squared TD error.
//! Nothing is allocated; everything is generic over the scalar, so that one program trains one
//! `f32` network on a chip or eight seeds side by side in the lanes of a register, each lane bit
//! for bit the network that its seed trains alone.
//!
//! On a device's own trajectory, without a simulated task: features and rewards as [`Windows`], and a
//! step of Adam on them (or [`td_update`] per window).
//!
//! ```
//! use ictd_core::Model;
//! use ictd_core::attention::{Linear, Td0};
//! use ictd_core::rng::Rng;
//! use ictd_core::training::{
//!     Adam, AdamSettings, LinearNetwork, LinearShape, Network, Parameters, Targets, Windows,
//! };
//! # let features = [[0.5, -0.25]; 12];
//! # let rewards = [0.75; 11];
//!
//! // Three shared layers for two features: K = 2 * 2 + 1.
//! let shape = LinearShape::new(2, 1, 3);
//! let mut network = LinearNetwork::<f32, Vec<f32>>::zeros(shape, |len| vec![0.0; len])?;
//! network.initialise_lane(0, &mut Rng::new(1));
//! let mut adam = Adam::new(AdamSettings::default(), network.parameters())?;
//!
//! // n = 6 transitions in a context; phi_0 to phi_11 and R_1 to R_11 make W = 4 windows.
//! let windows = Windows::new(2, features.as_flattened(), &rewards, 6, 0.9)?;
//! let mut gradient = network.parameters().zeros_like();
//! let loss = network.batch_gradient(&windows, Targets::Bootstrapped, &mut gradient);
//! adam.step(network.parameters_mut(), &gradient);
//!
//! assert!(loss.is_finite() && windows.count() == 4);
//! let model = Model::<2>::new(network.transformer::<5, 1>(0)?, Linear(Td0), 0.9)?;
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
pub use softmax::SoftmaxNetwork;
pub use windows::{TrajectoryBuffer, Window, Windows};
