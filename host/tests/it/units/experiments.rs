mod claims;
mod demo;
mod fixed_point;
mod learning;
mod rnn_context;
mod statistics;
mod verify;
