//! Value parsers: each says in one phrase what it accepts.

pub use trainer::options::*;
