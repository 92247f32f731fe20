//! The room that compiled networks and tasks have, and the sizes of an RNN.

/// The capacity for layers.
pub const LAYERS: usize = 4;
/// The capacity for the states of a finite task.
pub const STATES: usize = 32;
/// The capacity for CartPole's tiles.
pub const TILES: usize = 324;
/// The capacity for a trajectory: n + windows + 2 feature vectors.
pub const TRAJECTORY: usize = 512;
/// The capacity for the context of softmax attention and of an RNN, which keep all of it.
pub const SHORT_CONTEXT: usize = 64;
/// The capacity for the layers of a softmax transformer.
pub const SOFTMAX_LAYERS: usize = 4;
/// Layers of an RNN.
pub const RNN_LAYERS: usize = 3;
/// Hidden units in each layer of an RNN.
pub const RNN_HIDDEN: usize = 4;
/// The feature dimension of an RNN.
pub const RNN_DIM: usize = 4;
