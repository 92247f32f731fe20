//! The tests of the library's modules. Inside the library they would compile and optimise all of it once more.

mod commands;
mod experiments;
mod files;
pub(crate) mod formats;
mod page;
mod program;
mod run;
