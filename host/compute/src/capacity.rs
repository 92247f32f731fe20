//! The largest sizes that are compiled, as capacities are type parameters.

/// Features of linear attention and of an RNN; those up to which linear attention is measured with less memory; and the
/// paper's.
pub const DIM: usize = 64;
pub const USUAL_DIM: usize = 32;
pub const PAPER_DIM: usize = 4;
/// Features of literal transformers, and those up to which tasks take less memory.
pub const FEW: usize = 8;
/// Layers of linear attention, and those up to which linear attention is measured with less memory.
pub const LAYERS: usize = 32;
pub const USUAL_LAYERS: usize = 16;
pub const SOFTMAX_LAYERS: usize = 8;
pub const USUAL_SOFTMAX_LAYERS: usize = 4;
pub const STATES: usize = 32;
/// The states, and the features, of a task that is given as data.
pub const OWN: usize = 64;
pub const TILES: usize = 324;
/// A trajectory, n + windows + 2 feature vectors; and one of few features.
pub const TRAJECTORY: usize = CONTEXT + WINDOWS + 2;
pub const SHORT_TRAJECTORY: usize = 1100;
/// The context of linear attention.
pub const CONTEXT: usize = 4096;
pub const WINDOWS: usize = 512;
/// The context of literal transformers, which compute all columns in every layer.
pub const PROMPT: usize = 1024;
/// The context of softmax attention, which keeps all of it.
pub const SOFTMAX_CONTEXT: usize = 256;
/// The context of an RNN, and that up to which softmax attention trains with less memory.
pub const SHORT_CONTEXT: usize = 64;
pub const RNN_LAYERS: usize = 3;
pub const RNN_HIDDEN: usize = 4;
/// Features of softmax attention.
pub const SOFTMAX_DIM: usize = 16;
