//! Estimates values, and judges what training finds: every estimator behind one interface, the algorithms that a network is
//! compared with, the paper's constructions and their errors, and control on finite MDPs.
#![deny(unsafe_code)]

pub mod bench;
pub mod bridge;
pub mod construction;
pub mod control;
pub mod estimator;
pub mod explained;
pub mod formulas;
pub mod invariant;
pub mod judge;
pub mod measure;
pub mod parameters;
pub mod predict;
pub mod stored;
pub mod universal;
pub mod value_error;
pub mod verify;
