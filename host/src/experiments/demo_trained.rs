//! Figure 1 with trained transformers in place of Theorem 1's.

use super::demo::{
    Demo, MeanRow, Method, SEEDS_CAPTION, SeedRow, claim_of_seeds, curves_of_seeds, errors_at,
};
use super::experiment::{Entry, Experiment, Measured, Run, run};
use super::learning::{Scale, trained};
use super::panels;
use crate::error::Error;
use crate::model_file::StreamingModel;
use crate::options as parse;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict};
use crate::run::session::Session;
use crate::train::directory::final_parameters;
use crate::train::log::SeedRun;
use crate::train::options::Train;
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use serde::{Deserialize, Serialize};

/// Figure 1, by the transformers that were trained, not by Theorem 1's
///
/// The transformers of Figure 2 (L = 3, d = 4, trained with 30 transitions) evaluate the tasks of Figure 1, with
/// values that the features can represent; in three families, of which they were trained on none. Beside them
/// Theorem 1's 15 layers, and predicting 0.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DemoTrained {
    /// How much is trained.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
    /// Tasks of each family
    #[arg(long, default_value = "300", value_parser = parse::integer(1..=1_000_000))]
    pub tasks: usize,
}

/// The run, and what is typed after `ictd train` for it.
const RUN: (&str, &str) = ("linear-l3", "");

/// The families: what is typed after `ictd demo` for one, its name in the records, and its title.
const FAMILIES: [(&str, &str, &str); 3] = [
    ("--dim 4 --task mdp", "mdp", "Random MDPs"),
    ("--dim 4 --task loop --max-states 15", "loop", "Loop"),
    ("--dim 4 --task boyan --min-states 10", "boyan", "Boyan's chain, representable values"),
];

/// What is found: the errors over those of predicting 0.
#[derive(Serialize)]
pub struct Found {
    families: Vec<Family>,
}

#[derive(Serialize)]
struct Family {
    name: &'static str,
    context_lengths: Vec<usize>,
    trained_median: Vec<f64>,
    theorem_1: Vec<f64>,
}

/// One row of `theorem_1.csv`: the mean over tasks with its standard error.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct TheoremRow {
    family: String,
    context_length: usize,
    mean: f64,
    stderr: f64,
}

/// One row of `trained.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct TrainedRow {
    family: String,
    seed: u64,
    context_length: usize,
    msve: f64,
    of_zero: f64,
}

impl Experiment for DemoTrained {
    const ENTRY: Entry = Entry {
        id: "demo-trained",
        figure: "Figure 1, with trained transformers",
        figures,
        run: Run::Scaled(|scale, session| {
            run(&DemoTrained { scale: scale.clone(), ..parse::parsed("") }, session)
        }),
    };

    type Found = Found;

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Found> {
        let train: Train = self.scale.apply(parse::parsed(RUN.1));
        let seeds = trained(RUN.0, &train, session)?;
        let (mut trained_rows, mut theorem_rows) = (Vec::new(), Vec::new());
        let (mut families, mut claims) = (Vec::new(), Vec::new());
        for (typed, name, title) in FAMILIES {
            let demo = Demo { tasks: self.tasks, ..parse::parsed(typed) };
            let model = |run: &SeedRun| {
                let parameters =
                    final_parameters(&train.recipe, run).filter(|p| p.check().is_ok())?;
                let (parameters, depth) = (Box::new(parameters), train.recipe.layers);
                Some(StreamingModel::Dense { parameters, depth })
            };
            let models = seeds.iter().map(|run| (run.seed, model(run))).collect();
            let rows = demo.errors_of_seeds(models, session)?;
            let theorem = demo.errors(&Method::Constructed, name, session)?;
            let theorem = demo.means(|n| errors_at(&theorem, n));
            let claim = claim_of_seeds(&format!("trained, {title}: "), &rows);
            // On Loops the values blow up; on chains those of some tasks, which are the mean.
            let expected = if name == "mdp" { Verdict::Holds } else { Verdict::DoesNotHold };
            claims.push(Claim { expected, ..claim });
            families.push(Family::new(name, &rows, &theorem));
            theorem_rows.extend(theorem.into_iter().map(|r| TheoremRow {
                family: name.into(),
                context_length: r.context_length,
                mean: r.mean,
                stderr: r.stderr,
            }));
            trained_rows.extend(rows.into_iter().map(|r| TrainedRow {
                family: name.into(),
                seed: r.seed,
                context_length: r.context_length,
                msve: r.msve,
                of_zero: r.of_zero,
            }));
        }
        records.put_csv("trained.csv", &trained_rows)?;
        records.put_csv("theorem_1.csv", &theorem_rows)?;
        Ok((Found { families }, claims))
    }
}

impl Family {
    fn new(name: &'static str, rows: &[SeedRow], theorem: &[MeanRow]) -> Self {
        let curves = curves_of_seeds("", rows);
        let of_zero = curves[1].y.first().copied().unwrap_or(f64::NAN);
        Family {
            name,
            context_lengths: theorem.iter().map(|r| r.context_length).collect(),
            trained_median: curves[0].y.iter().map(|y| y / of_zero).collect(),
            theorem_1: theorem.iter().map(|r| r.mean / of_zero).collect(),
        }
    }
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let trained: Vec<TrainedRow> = records.csv("trained.csv")?;
    let theorem: Vec<TheoremRow> = records.csv("theorem_1.csv")?;
    let panel = |(_, name, title): (&str, &str, &str)| {
        let of_seeds: Vec<SeedRow> = (trained.iter().filter(|r| r.family == name))
            .map(|r| SeedRow {
                seed: r.seed,
                context_length: r.context_length,
                msve: r.msve,
                of_zero: r.of_zero,
            })
            .collect();
        let points = theorem.iter().filter(|r| r.family == name);
        let theorem = points.map(|r| (r.context_length as f64, r.mean, r.stderr));
        let mut curves: Vec<Curve> = curves_of_seeds("trained, L = 3", &of_seeds);
        curves.insert(1, panels::curve("Theorem 1, 15 layers", theorem));
        Panel::Curves(Curves {
            title: title.into(),
            x: Axis::linear("context length t"),
            y: Axis::log("MSVE"),
            curves,
            ..Default::default()
        })
    };
    let figure = Figure {
        title: "Policy evaluation in context, by trained transformers".into(),
        subtitle: SEEDS_CAPTION.into(),
        panels: FAMILIES.into_iter().map(panel).collect(),
        columns: 3,
    };
    Ok(vec![("demo-trained".into(), figure)])
}
