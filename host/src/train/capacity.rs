//! How large what is compiled is: capacities live in types.

/// Layers.
pub const LAYERS: usize = 4;
/// The states of a finite task.
pub const STATES: usize = 32;
/// CartPole's tiles.
pub const TILES: usize = 324;
/// A trajectory: n + windows + 2 feature vectors.
pub const TRAJECTORY: usize = 512;
/// The context of softmax attention and of an RNN, which keep all of it.
pub const SHORT_CONTEXT: usize = 64;
/// Layers of an RNN.
pub const RNN_LAYERS: usize = 3;
/// Hidden units in each layer of an RNN.
pub const RNN_HIDDEN: usize = 4;
/// The feature dimension of an RNN.
pub const RNN_DIM: usize = 4;
