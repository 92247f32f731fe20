mod claims;
mod demo;
mod learning;
mod rnn_context;
mod statistics;
mod verify;
