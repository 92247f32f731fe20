//! What training is judged by.

mod comparison;
mod elements;
mod form;
