//! The networks that train, as types: the shapes that are compiled.

use crate::capacity::{DIM, RNN_DIM, RNN_HIDDEN, RNN_LAYERS, SHORT_CONTEXT, SOFTMAX_LAYERS};
use ictd_core::training::{self, LinearNetwork, SoftmaxNetwork};

pub type Linear<S> = LinearNetwork<S, Vec<S>>;
pub type Softmax<S> = SoftmaxNetwork<S, 9, SOFTMAX_LAYERS, SOFTMAX_LAYERS, SHORT_CONTEXT>;
pub type Rnn<S> = training::Rnn<S, { 2 * RNN_DIM + 2 }, RNN_HIDDEN, RNN_LAYERS, SHORT_CONTEXT>;
/// The same network for any number of features.
pub type AnyRnn<S> = training::Rnn<S, { 2 * DIM + 2 }, RNN_HIDDEN, RNN_LAYERS, SHORT_CONTEXT>;
