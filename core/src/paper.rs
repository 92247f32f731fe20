#![doc = include_str!("paper.md")]

#[allow(unused_imports)] // for the links above
use crate::{
    attention, constructions, invariant_set, layer, mask, metrics, prompt, statistic, tasks, td,
    training, value_function::ValueFunction,
};
