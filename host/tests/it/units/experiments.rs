mod claims;
mod demo;
mod emergence;
mod fixed_point;
mod fresh;
mod function;
mod invariant_set {
    mod theorem_2;
    mod trained;
    mod updates;
}
mod panels;
mod ratio;
mod rnn_context;
mod statistics;
mod stuck;
mod universal;
mod verify;
