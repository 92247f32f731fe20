//! The files of a finished seed in its folder ([`super::directory`]), for people and for other tools.

use super::options::{AttentionKind, LayerSharing, NetworkKind, Recipe};
use crate::error::Error;
use crate::formats::seed_run::{DATA_FILE, PARAMETERS_FILE, PARAMS_FILE, to_npz};
use crate::formats::{LayerParameters, Parameters, safetensors};
use crate::run::records::RunFiles;
use compute::log::{ELEMENTS, LogPoint, METRICS, Matrices, SeedRun};
use compute::recipe::NamedTask;
use serde_json::{Value, json};
use std::path::Path;

/// Returns all files of a finished seed but its checkpoint, of which they are a function.
pub(super) fn records(recipe: &Recipe, run: &SeedRun) -> Result<RunFiles, Error> {
    let mut records = RunFiles::default();
    let row = |p: &LogPoint| (p.tasks, METRICS.map(|m| (m.of)(p)));
    let head = [&["tasks"][..], &METRICS.map(|m| m.name)].concat();
    records.put_table("metrics.csv", &head, run.points.iter().map(row))?;
    let rows = run.points.iter().flat_map(|p| {
        p.layers.iter().enumerate().map(|(layer, m)| {
            (p.tasks, layer, m.element.sign, ELEMENTS.map(|e| (e.of)(&m.element)))
        })
    });
    let mut rows = rows.peekable();
    if rows.peek().is_some() {
        let head = [&["tasks", "layer", "sign"][..], &ELEMENTS.map(|e| e.name)].concat();
        records.put_table("elements.csv", &head, rows)?;
    }
    let refuse = |name: &'static str| move |e| Error::file(Path::new(name), e);
    if recipe.network == NetworkKind::Transformer {
        records.put(DATA_FILE, to_npz(run).map_err(refuse(DATA_FILE))?);
        records.put(PARAMS_FILE, seed_params(recipe, run.seed).to_string());
        records.put(PARAMETERS_FILE, safetensors::to_bytes(&final_parameters(recipe, run)));
    }
    Ok(records)
}

/// Returns the final transformer of a seed; without layers for an empty log.
pub fn final_parameters(recipe: &Recipe, run: &SeedRun) -> Parameters {
    let layer = |m: &Matrices| LayerParameters { p: m.p.clone(), q: m.q.clone() };
    Parameters {
        token_size: run.token_size,
        layers: run.last().into_iter().flat_map(|last| last.layers.iter().map(layer)).collect(),
        layer_sharing: recipe.layer_sharing,
        depth: Some(recipe.layers),
        attention: Some(recipe.attention),
        gamma: Some(recipe.gamma),
        context_length: Some(recipe.context_length),
        trace_decay: recipe.trace_decay,
    }
}

/// Returns the content of `params.json`, with the names of the authors' code in their order.
pub fn seed_params(recipe: &Recipe, seed: u64) -> Value {
    let linear = recipe.attention == AttentionKind::Linear;
    // The authors' code has one class per run: that of the mixture's first task.
    let (mrp_class, representable) = match recipe.task.named().first() {
        None => ("own", false),
        Some(NamedTask::Paper(spec)) => (spec.authors_class(), spec.is_representable()),
        Some(NamedTask::Added(family)) => (family.name(), false),
    };
    // The authors' word for it.
    let mode = match recipe.layer_sharing {
        LayerSharing::Autoregressive => "auto",
        LayerSharing::Sequential => "sequential",
    };
    let mut params = json!({
        "d": recipe.dim,
        "s": recipe.states,
        "n": recipe.context_length,
        "l": recipe.layers,
        "gamma": recipe.gamma,
        "activation": if linear { "identity" } else { "softmax" },
        "sample_weight": representable,
        "mode": mode,
        "n_mrps": recipe.tasks,
        "mini_batch_size": recipe.batch_size,
        "n_batch_per_mrp": recipe.batches,
        "lr": recipe.learning_rate,
        "weight_decay": recipe.weight_decay,
        "log_interval": recipe.log_every,
        "random_seed": seed,
        "linear": linear,
        "mrp_class": mrp_class,
    });
    if recipe.trace_decay != 0.0 {
        params["lambda"] = json!(recipe.trace_decay);
    }
    params
}
