//! Why some seeds stay stuck: when it is decided, and what frees them.

use super::claims::{of_seeds, shares};
use super::experiment::{Entry, Experiment, Measured, Run, run};
use super::function::{CANDIDATES, CONTEXTS, Judge, layers};
use super::learning::{self, Scale};
use super::panels;
use super::statistics::{Interval, bootstrap, mean_interval, median, spread};
use crate::error::{Doing, Error};
use crate::options;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict, table};
use crate::run::session::Session;
use crate::train::log::{Point, SeedRun};
use crate::train::options::Train;
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use ictd_core::layer::Layer;
use ictd_core::metrics::{BlockForm, FORM_SHARE};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why some seeds stay stuck
///
/// Of the seeds of Figure 2 a few never become TD: Theorem 1's form has less than nine tenths of their Q's energy.
/// Their overlap with TD's direction, (P[-1,-1] less the mean diagonal of Q's upper left block) / 2, is followed
/// through the training, a rule from those seeds is tried on as many others, and changes of the training say what
/// frees them.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Stuck {
    /// How much is trained.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
}

/// A change of the training, from the same seeds.
pub struct Change {
    run: &'static str,
    title: &'static str,
    options: &'static str,
    /// How many times as many tasks.
    longer: usize,
}

const fn change(run: &'static str, title: &'static str, options: &'static str) -> Change {
    Change { run, title, options, longer: 1 }
}

/// What may free the stuck seeds.
pub const CHANGES: &[Change] = &[
    Change { longer: 3, ..change("stuck-longer", "three times as many tasks", "--log-every 30") },
    change("stuck-gain", "initial parameters ten times larger", "--gain 1"),
    change("stuck-lr", "a learning rate of 0.003", "--lr 0.003"),
    change("stuck-warm-up", "a warm-up of 2000 of 20,000 steps", "--warm-up 2000"),
    change("stuck-batch", "batches of 256 windows", "--batch-size 256"),
    change("equivariant-l3", "ten numbers a layer", "--parameters equivariant"),
];

/// The run of as many other seeds.
const OTHERS: &str = "linear-l3-others";

/// The share of the training after which the overlap is looked at: 110 of 4000 tasks.
const EARLY: f64 = 110.0 / 4000.0;

/// One row of `overlaps.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct OverlapRow {
    run: String,
    seed: u64,
    tasks: u64,
    /// |P[-1,-1] - mean diagonal of Q[:d,:d]| / 2.
    overlap: f64,
    /// Whether the seed is TD at its end: Q has Theorem 1's form.
    td: bool,
}

/// One row of `seeds.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SeedRow {
    /// The run's name.
    pub run: String,
    /// The seed.
    pub seed: u64,
    /// The share of Q's energy in Theorem 1's form: at least nine tenths of a seed that is TD.
    pub form_q: f64,
    /// The share of |v|^2 that TD(0) explains on fresh tasks.
    pub explained: f64,
    /// The overlap early in the training.
    pub early: f64,
}

/// What is found.
#[derive(Serialize)]
pub struct Found {
    /// Which seeds of the first run are stuck.
    stuck: Vec<u64>,
    /// Of a seed that becomes TD and one that does not: how often the first has the larger early overlap.
    separation: f64,
    held_out_separation: f64,
    changes: Vec<Changed>,
}

/// A change: how many of the stuck seeds are TD under it, and how many others are not.
#[derive(Clone, Serialize)]
pub struct Changed {
    run: &'static str,
    freed: usize,
    lost: usize,
    stuck: usize,
}

impl Experiment for Stuck {
    const ENTRY: Entry = Entry {
        id: "stuck",
        figure: "Beyond the paper: why some seeds stay stuck",
        figures,
        run: Run::Scaled(|scale, session| run(&Stuck { scale: scale.clone() }, session)),
    };

    type Found = Found;

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Found> {
        let train: Train = self.scale.apply(options::parsed(""));
        let first = Seeds::of("linear-l3", &train, session)?;
        let others = Some(train.first_seed.unwrap_or(session.seed) + train.seeds.count() as u64);
        let others = Train { first_seed: others, ..train.clone() };
        let held_out = Seeds::of(OTHERS, &others, session)?;
        let mut seeds = vec![];
        let mut changes = Vec::new();
        let mut claims = vec![decided_early(&first, &held_out)];
        for change in CHANGES {
            let mut options: Train = self.scale.apply(options::parsed(change.options));
            options.recipe.mrps *= change.longer;
            let of = Seeds::of(change.run, &options, session)?;
            let (changed, claim) = frees(change, &first, &of);
            changes.push(changed);
            claims.push(claim);
            seeds.push(of);
        }
        let found = Found {
            stuck: first.stuck().collect(),
            separation: first.separation().estimate,
            held_out_separation: held_out.separation().estimate,
            changes,
        };
        let overlaps: Vec<_> = [&first, &held_out].into_iter().flat_map(Seeds::overlaps).collect();
        records.put_csv("overlaps.csv", &overlaps)?;
        let all = [&first, &held_out].into_iter().chain(&seeds);
        let rows: Vec<_> = all.flat_map(|of| of.rows.clone()).collect();
        records.put_csv("seeds.csv", &rows)?;
        Ok((found, claims))
    }

    fn text(found: &Found) -> String {
        let head = ["change", "freed", "still stuck", "stuck anew"].map(str::to_owned);
        let row = |changed: &Changed| {
            let numbers = [changed.freed, changed.stuck - changed.freed, changed.lost];
            let [freed, still, anew] = numbers.map(|n| n.to_string());
            [changed.run.to_owned(), freed, still, anew]
        };
        let rows: Vec<_> = std::iter::once(head).chain(found.changes.iter().map(row)).collect();
        format!("stuck: {:?}\n\n{}\n", found.stuck, table(&rows))
    }
}

/// The seeds of a run, judged.
pub struct Seeds {
    /// The run's name.
    pub run: &'static str,
    /// The log of each.
    pub runs: Vec<SeedRun>,
    /// What is judged of each.
    pub rows: Vec<SeedRow>,
}

impl SeedRow {
    fn is_td(&self) -> bool {
        self.form_q >= FORM_SHARE
    }
}

impl Seeds {
    fn of(run: &'static str, train: &Train, session: &Session) -> Result<Self, Error> {
        let runs = learning::trained(run, train, session)?;
        // TD(0) alone is asked for.
        let td = &CANDIDATES[..1];
        let judge = Judge::<Layer<f64, 9>, 4>::new(&train.recipe, td, CONTEXTS, session.seed);
        let judge = judge.doing(format!("{run}, fresh tasks"))?;
        let explained = session.map(run, &runs, |of| Ok(judge.function(of)?.explained[0]))?;
        let forms = shares(&runs, 0, BlockForm::Td);
        let row = |((of, explained), [_, form_q]): ((&SeedRun, f64), [f64; 2])| {
            let last = of.last().map_or(0, |point| point.tasks);
            let early = (EARLY * last as f64) as u64;
            let early = of.points.iter().find(|point| point.tasks >= early);
            let (run, early) = (run.into(), early.map_or(f64::NAN, overlap));
            SeedRow { run, seed: of.seed, form_q, explained, early }
        };
        let rows = runs.iter().zip(explained).zip(forms).map(row).collect();
        Ok(Seeds { run, runs, rows })
    }

    fn stuck(&self) -> impl Iterator<Item = u64> {
        self.rows.iter().filter(|row| !row.is_td()).map(|row| row.seed)
    }

    /// The early overlaps of the seeds that are TD, or of the others.
    fn early(&self, td: bool) -> Vec<f64> {
        self.rows.iter().filter(|row| row.is_td() == td).map(|row| row.early).collect()
    }

    /// Of a seed that is TD and one that is not, how often the first has the larger early overlap, equal ones
    /// half; NaN without such a pair.
    pub fn separation(&self) -> Interval {
        bootstrap([&self.early(true), &self.early(false)], |[td, stuck]| {
            let mut larger = 0.0;
            for x in td {
                for y in stuck {
                    larger += if x > y { 1.0 } else { 0.5 * f64::from(x == y) };
                }
            }
            larger / (td.len() * stuck.len()) as f64
        })
    }

    fn overlaps(&self) -> impl Iterator<Item = OverlapRow> {
        self.runs.iter().zip(&self.rows).flat_map(|(of, row)| {
            of.points.iter().map(|point| OverlapRow {
                run: self.run.into(),
                seed: of.seed,
                tasks: point.tasks,
                overlap: overlap(point),
                td: row.is_td(),
            })
        })
    }
}

/// |P[-1,-1] - mean diagonal of Q[:d,:d]| / 2 at a log point.
fn overlap(point: &Point) -> f64 {
    layers::<9>(point).first().map_or(f64::NAN, |layer| {
        let left = (0..4).map(|i| layer.q[(i, i)]).sum::<f64>() / 4.0;
        (layer.p[(8, 8)] - left).abs() / 2.0
    })
}

/// The early overlap separates on seeds that it was not found with.
pub fn decided_early(first: &Seeds, held_out: &Seeds) -> Claim {
    const MOSTLY: f64 = 0.75;
    const CHANCE: f64 = 0.5;
    let stuck = |of: &Seeds| format!("{} of {} stuck", of.stuck().count(), of.rows.len());
    let other = held_out.separation();
    Claim::new(
        "which seeds stay stuck is decided early",
        "not in the paper",
        format!(
            "after {:.1} % of the tasks the overlap with TD's direction is {:.3} in the median of the seeds that \
             become TD and {:.3} of the stuck; of two such seeds the first has the larger one in a share {:.2} of \
             all pairs ({}), of as many other seeds in {other:.2} ({}), needs > {MOSTLY} (in part > {CHANCE})",
            100.0 * EARLY,
            median(&first.early(true)),
            median(&first.early(false)),
            first.separation(),
            stuck(first),
            stuck(held_out),
        ),
        Verdict::graded(other.low > MOSTLY, other.low > CHANCE),
    )
    .open()
}

/// Of the seeds that are stuck without the change, how many are TD with it, and how many others are not: it frees
/// them if more are TD than were, seed by seed, and then most are; in part if more are.
pub fn frees(change: &Change, first: &Seeds, of: &Seeds) -> (Changed, Claim) {
    let pairs = || first.rows.iter().zip(&of.rows).map(|(a, b)| [a.is_td(), b.is_td()]);
    let count = |what: [bool; 2]| pairs().filter(|pair| *pair == what).count();
    let (freed, lost) = (count([false, true]), count([true, false]));
    let stuck = freed + count([false, false]);
    let changed = Changed { run: change.run, freed, lost, stuck };
    let more: Vec<f64> = pairs().map(|[a, b]| f64::from(b) - f64::from(a)).collect();
    let more = mean_interval(&more);
    let (seeds, most) = of_seeds(pairs().map(|[_, td]| td));
    let claim = Claim::new(
        format!("{} frees the stuck seeds", change.title),
        "not in the paper",
        format!(
            "Q has Theorem 1's form in {freed} of {stuck} stuck seeds, and not in {lost} of {} others: a share of \
             {more:.2} more, needs > 0, and the form in {seeds}; TD(0) explains {}",
            of.rows.len() - stuck,
            spread(&of.rows.iter().map(|row| row.explained).collect::<Vec<_>>())
        ),
        Verdict::graded(more.low > 0.0 && most == Verdict::Holds, more.low > 0.0),
    );
    (changed, claim.open())
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let rows: Vec<OverlapRow> = records.csv("overlaps.csv")?;
    let seeds: Vec<SeedRow> = records.csv("seeds.csv")?;
    let runs = panels::names("overlaps.csv", rows.iter().map(|r| r.run.as_str()))?;
    let on_the_way = |run: &&str| {
        let mut seeds = BTreeMap::<u64, Vec<&OverlapRow>>::new();
        for row in rows.iter().filter(|r| r.run == *run) {
            seeds.entry(row.seed).or_default().push(row);
        }
        let mut labelled = [false; 2];
        let mut curve = |of_seed: &Vec<&OverlapRow>| {
            let td = of_seed.first().is_some_and(|r| r.td);
            let named = std::mem::replace(&mut labelled[usize::from(td)], true);
            let label = match (named, td) {
                (true, _) => "",
                (false, true) => "becomes TD",
                (false, false) => "stays stuck",
            };
            let x = of_seed.iter().map(|r| r.tasks as f64).collect();
            let y = of_seed.iter().map(|r| r.overlap.max(1e-4)).collect();
            Curve { dashed: !td, colour: Some(usize::from(!td)), ..Curve::plain(label, x, y) }
        };
        Panel::Curves(Curves {
            title: run.to_string(),
            x: Axis::linear("number of MRPs"),
            y: Axis::log("overlap with TD's direction"),
            curves: seeds.values().map(&mut curve).collect(),
            ..Default::default()
        })
    };
    let of_changes = panels::names("seeds.csv", seeds.iter().map(|r| r.run.as_str()))?;
    let curve = |run: &&str| {
        let of_run = seeds.iter().filter(|r| r.run == *run);
        // Other seeds of the same training have its colour; seven are told apart.
        let colour = CHANGES.iter().position(|change| change.run == *run).map_or(0, |i| i + 1);
        Curve {
            dashed: *run == OTHERS,
            colour: Some(colour),
            ..Curve::sorted(run, of_run.map(|r| r.form_q.max(0.0)))
        }
    };
    let of_changes = Panel::Curves(Curves {
        title: "Theorem 1's form of Q at the end".into(),
        x: Axis::linear("seeds, each curve in its own order"),
        y: Axis::fixed("share of Q's energy", 0.0, 1.05),
        curves: of_changes.iter().map(curve).collect(),
        ..Default::default()
    });
    let figure = Figure {
        title: "Why some seeds stay stuck".into(),
        subtitle: "each curve a seed of L = 3; the overlap is (P[−1, −1] − mean diagonal of Q[:d, :d]) / 2".into(),
        panels: runs.iter().map(on_the_way).chain([of_changes]).collect(),
        columns: 3,
    };
    Ok(vec![("stuck".into(), figure)])
}
