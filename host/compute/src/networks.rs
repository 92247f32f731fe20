//! The networks that train, as types: the shapes that are compiled.

use crate::capacity::{DIM, PAPER_DIM, RNN_HIDDEN, RNN_LAYERS, SHORT_CONTEXT};
use ictd_core::training::{self, LinearNetwork};

pub type Linear<S> = LinearNetwork<S, Vec<S>>;
pub type Rnn<S> = training::Rnn<S, { 2 * PAPER_DIM + 2 }, RNN_HIDDEN, RNN_LAYERS, SHORT_CONTEXT>;
/// The same network for any number of features.
pub type AnyRnn<S> = training::Rnn<S, { 2 * DIM + 2 }, RNN_HIDDEN, RNN_LAYERS, SHORT_CONTEXT>;
