//! The files that a finished seed leaves in its folder ([`super::directory`]), for people and for other tools.

use super::options::{Attention, Model, ParameterSet, Recipe, TaskKind};
use crate::error::Error;
use crate::formats::parameters::{LayerParameters, Parameters};
use crate::formats::safetensors;
use crate::formats::seed_run::{DATA_FILE, PARAMS_FILE, to_npz};
use crate::formats::{Array, Data, npz};
use crate::options::typed;
use crate::run::records::Records;
use compute::log::{ELEMENTS, METRICS, Matrices, Point, SeedRun};
use serde_json::{Value, json};
use std::path::Path;

/// The files of the parameters of a transformer, and of one of two heads.
pub(super) const PARAMETERS: &str = "parameters.safetensors";
pub(super) const TWO_HEADS: &str = "two_heads.npz";

/// Returns the records of a finished seed.
/// Errors: [`Error::File`] if what was logged is of no one shape.
pub(super) fn records(recipe: &Recipe, run: &SeedRun) -> Result<Records, Error> {
    let mut records = Records::new();
    let row = |p: &Point| (p.tasks, METRICS.map(|m| (m.of)(p)));
    let rows: Vec<_> = run.points.iter().map(row).collect();
    let head = [&["tasks"][..], &METRICS.map(|m| m.name)].concat();
    records.put_table("metrics.csv", &head, &rows)?;
    let rows = run.points.iter().flat_map(|p| {
        p.layers.iter().enumerate().map(|(layer, m)| {
            (p.tasks, layer, m.element.sign, ELEMENTS.map(|e| (e.of)(&m.element)))
        })
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        let head = [&["tasks", "layer", "sign"][..], &ELEMENTS.map(|e| e.name)].concat();
        records.put_table("elements.csv", &head, &rows)?;
    }
    let refuse = |name: &'static str| move |e| Error::file(Path::new(name), e);
    if recipe.heads == 2 {
        let parameters = two_heads_npz(2 * recipe.dim + 2, &run.parameters);
        records.put(TWO_HEADS, parameters.map_err(refuse(TWO_HEADS))?);
    } else if recipe.model == Model::Transformer {
        records.put(DATA_FILE, to_npz(run).map_err(refuse(DATA_FILE))?);
        records.put(PARAMS_FILE, seed_params(recipe, run.seed).to_string());
        if let Some(parameters) = final_parameters(recipe, run) {
            records.put(PARAMETERS, safetensors::to_bytes(&parameters));
        }
    }
    Ok(records)
}

/// P, Q and W of both heads of each stored layer, (k, k) each, row by row.
fn two_heads_npz(k: usize, parameters: &[f32]) -> std::io::Result<Vec<u8>> {
    let names = ["P1", "Q1", "W1", "P2", "Q2", "W2"];
    let stored = parameters.len() / (names.len() * k * k);
    let matrix = |m: usize| {
        let of_layer = |l: usize| {
            let at = (l * names.len() + m) * k * k;
            // The core's columns as rows.
            (0..k * k).map(move |i| parameters[at + i % k * k + i / k])
        };
        Array {
            shape: vec![stored, k, k],
            data: Data::F32((0..stored).flat_map(of_layer).collect()),
        }
    };
    let matrices: Vec<_> = (0..names.len()).map(matrix).collect();
    npz::to_bytes(&names.into_iter().zip(&matrices).collect::<Vec<_>>())
}

/// Returns the transformer that a seed ended with; none of an empty log.
pub fn final_parameters(recipe: &Recipe, run: &SeedRun) -> Option<Parameters> {
    let layer = |m: &Matrices| LayerParameters { p: m.p.clone(), q: m.q.clone() };
    Some(Parameters {
        token_size: run.token_size,
        layers: run.last()?.layers.iter().map(layer).collect(),
        mode: recipe.mode,
        depth: Some(recipe.layers),
        attention: Some(recipe.attention),
        gamma: Some(recipe.gamma),
        context_length: Some(recipe.context),
        lambda: recipe.lambda,
        set: recipe.parameters,
        prior_count: recipe.prior_count(),
    })
}

/// Returns the content of `params.json`, with the names of the authors' code in their order.
pub fn seed_params(recipe: &Recipe, seed: u64) -> Value {
    let linear = recipe.attention == Attention::Linear;
    // Theirs know one class; of several the first.
    let (mrp_class, representable) = match recipe.task.0[..].first().unwrap_or(&TaskKind::Boyan) {
        TaskKind::Boyan => ("boyan", false),
        TaskKind::BoyanRepresentable => ("boyan", true),
        TaskKind::Mdp => ("mdp", true),
        TaskKind::Loop => ("loop", true),
        TaskKind::Cartpole | TaskKind::CartpoleAuthors | TaskKind::CartpoleUniform => {
            ("cartpole", false)
        }
    };
    let mut params = json!({
        "d": recipe.dim,
        "s": recipe.states,
        "n": recipe.context,
        "l": recipe.layers,
        "gamma": recipe.gamma,
        "activation": if linear { "identity" } else { "softmax" },
        "sample_weight": representable,
        "mode": typed(&recipe.mode),
        "n_mrps": recipe.mrps,
        "mini_batch_size": recipe.batch_size,
        "n_batch_per_mrp": recipe.batches,
        "lr": recipe.lr,
        "weight_decay": recipe.weight_decay,
        "log_interval": recipe.log_every,
        "random_seed": seed,
        "linear": linear,
        "mrp_class": mrp_class,
    });
    if recipe.lambda != 0.0 {
        params["lambda"] = json!(recipe.lambda);
    }
    if recipe.parameters != ParameterSet::Full {
        params["parameters"] = json!(typed(&recipe.parameters));
    }
    if let Some(prior_count) = recipe.prior_count() {
        params["prior_count"] = json!(prior_count);
    }
    params
}
