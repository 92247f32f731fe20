//! Why some seeds stay stuck: when it is decided, and what frees them.

use super::experiment::{Entry, Experiment, Measured, Run, run};
use super::function::{Candidate, EXPLAINED, Judge, layers_at};
use super::learning::{self, Scale};
use super::statistics::quartiles;
use crate::error::Error;
use crate::options;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict, table};
use crate::run::session::Session;
use crate::train::log::SeedRun;
use crate::train::options::Train;
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use ictd_core::metrics::Algorithm;
use serde::{Deserialize, Serialize};

/// Why some seeds stay stuck
///
/// Of the seeds of Figure 2 a few never become TD. Their overlap with TD's direction, (P[-1,-1] less the mean
/// diagonal of Q's upper left block) / 2, is followed through the training, a rule from those seeds is tried on as many others, and six
/// changes of the training say what frees them. A seed is TD if TD(0) explains 0.9 of |v|^2 on fresh tasks.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Stuck {
    /// How much is trained.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
    /// Fresh tasks to judge functions on
    #[arg(long, default_value = "60", value_parser = options::integer(2..=100_000))]
    pub tasks: usize,
}

/// A change of the training, from the same seeds.
struct Change {
    run: &'static str,
    title: &'static str,
    options: &'static str,
    /// How many times as many tasks.
    longer: usize,
}

const fn change(run: &'static str, title: &'static str, options: &'static str) -> Change {
    Change { run, title, options, longer: 1 }
}

const CHANGES: &[Change] = &[
    Change { longer: 3, ..change("stuck-longer", "three times as many tasks", "--log-every 30") },
    change("stuck-gain", "initial parameters ten times larger", "--gain 1"),
    change("stuck-lr", "a learning rate of 0.003", "--lr 0.003"),
    change("stuck-batch", "batches of 256 windows", "--batch-size 256"),
    change("equivariant-l3", "ten numbers a layer", "--parameters equivariant"),
];

const TD: &[Candidate] = &[Candidate { name: "TD(0)", algorithm: Algorithm::Td0, gamma: 0.9 }];

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
    /// Whether the seed is TD at its end.
    td: bool,
}

/// One row of `seeds.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SeedRow {
    run: String,
    seed: u64,
    /// The share of |v|^2 that TD(0) explains.
    explained: f64,
    /// The overlap early in the training.
    early: f64,
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
struct Changed {
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
        run: Run::Scaled(|scale, session| {
            run(&Stuck { scale: scale.clone(), ..options::parsed("") }, session)
        }),
    };

    type Found = Found;

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Found> {
        let train: Train = self.scale.apply(options::parsed(""));
        let first = Seeds::of("linear-l3", &train, self, session)?;
        let others = Some(train.first_seed.unwrap_or(session.seed) + train.seeds.count() as u64);
        let others = Train { first_seed: others, ..train.clone() };
        let held_out = Seeds::of("linear-l3-others", &others, self, session)?;
        let mut seeds = vec![];
        let mut changes = Vec::new();
        let mut claims = vec![decided_early(&first, &held_out)];
        for change in CHANGES {
            let mut options: Train = self.scale.apply(options::parsed(change.options));
            options.recipe.mrps *= change.longer;
            let of = Seeds::of(change.run, &options, self, session)?;
            let (changed, claim) = frees(change, &first, &of);
            changes.push(changed);
            claims.push(claim);
            seeds.push(of);
        }
        let found = Found {
            stuck: first.stuck().collect(),
            separation: first.separation(),
            held_out_separation: held_out.separation(),
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
struct Seeds {
    run: &'static str,
    runs: Vec<SeedRun>,
    rows: Vec<SeedRow>,
}

impl SeedRow {
    fn is_td(&self) -> bool {
        self.explained >= EXPLAINED
    }
}

impl Seeds {
    fn of(
        run: &'static str,
        train: &Train,
        options: &Stuck,
        session: &Session,
    ) -> Result<Self, Error> {
        let runs = learning::trained(run, train, session)?;
        let judge = Judge::new(&train.recipe, TD, options.tasks, session.seed)?;
        let explained = session.map(run, &runs, |run| judge.explain(run))?;
        let row = |(of, found): (&SeedRun, &super::function::Explained)| {
            let last = of.last().map_or(0, |point| point.tasks);
            let early = (EARLY * last as f64) as u64;
            let at = of.points.iter().position(|point| point.tasks >= early).unwrap_or(0);
            let (early, explained) = (overlap(of, at), found.shares[0]);
            SeedRow { run: run.into(), seed: of.seed, explained, early }
        };
        let rows = runs.iter().zip(&explained).map(row).collect();
        Ok(Seeds { run, runs, rows })
    }

    fn stuck(&self) -> impl Iterator<Item = u64> {
        self.rows.iter().filter(|row| !row.is_td()).map(|row| row.seed)
    }

    /// Of a seed that is TD and one that is not, how often the first has the larger early overlap, equal ones
    /// half; NaN without such a pair.
    fn separation(&self) -> f64 {
        let (mut larger, mut pairs) = (0.0, 0.0);
        for td in self.rows.iter().filter(|row| row.is_td()) {
            for stuck in self.rows.iter().filter(|row| !row.is_td()) {
                pairs += 1.0;
                larger += match td.early.total_cmp(&stuck.early) {
                    std::cmp::Ordering::Greater => 1.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Less => 0.0,
                };
            }
        }
        larger / pairs
    }

    fn overlaps(&self) -> impl Iterator<Item = OverlapRow> {
        let of_seed = |(of, row): (&SeedRun, &SeedRow)| {
            let td = row.is_td();
            let at = |t: usize| OverlapRow {
                run: self.run.into(),
                seed: of.seed,
                tasks: of.points[t].tasks,
                overlap: overlap(of, t),
                td,
            };
            (0..of.points.len()).map(at).collect::<Vec<_>>()
        };
        self.runs.iter().zip(&self.rows).flat_map(of_seed).collect::<Vec<_>>().into_iter()
    }
}

/// |P[-1,-1] - mean diagonal of Q[:d,:d]| / 2 at log point t.
fn overlap(run: &SeedRun, t: usize) -> f64 {
    layers_at(run, t).first().map_or(f64::NAN, |layer| {
        let left = (0..4).map(|i| layer.q[(i, i)]).sum::<f64>() / 4.0;
        (layer.p[(8, 8)] - left).abs() / 2.0
    })
}

/// The early overlap separates on seeds that it was not found with.
fn decided_early(first: &Seeds, held_out: &Seeds) -> Claim {
    let [found, other] = [first, held_out].map(Seeds::separation);
    let stuck = |of: &Seeds| format!("{} of {} stuck", of.stuck().count(), of.rows.len());
    let spread = |td: bool| {
        let rows = first.rows.iter().filter(|row| row.is_td() == td);
        quartiles(rows.map(|row| row.early).collect())[1]
    };
    Claim::new(
        "which seeds stay stuck is decided early",
        "not in the paper",
        format!(
            "after {:.1} % of the tasks the overlap with TD's direction is {:.3} in the median of the seeds that \
             become TD and {:.3} of the stuck; of two such seeds the first has the larger one in {found:.2} of all \
             pairs ({}), of as many other seeds in {other:.2} ({})",
            100.0 * EARLY,
            spread(true),
            spread(false),
            stuck(first),
            stuck(held_out),
        ),
        Verdict::graded(other >= 0.9, other >= 0.7),
    )
    .open()
}

/// Of the seeds that are stuck without the change, how many are TD with it, and how many others are not.
fn frees(change: &Change, first: &Seeds, of: &Seeds) -> (Changed, Claim) {
    let pairs = first.rows.iter().zip(&of.rows);
    let (mut freed, mut lost, mut stuck) = (0, 0, 0);
    for (before, after) in pairs {
        stuck += usize::from(!before.is_td());
        freed += usize::from(!before.is_td() && after.is_td());
        lost += usize::from(before.is_td() && !after.is_td());
    }
    let changed = Changed { run: change.run, freed, lost, stuck };
    let claim = Claim::new(
        format!("{} frees the stuck seeds", change.title),
        "not in the paper",
        format!(
            "of {stuck} stuck seeds {freed} are TD; of {} others {lost} are not",
            of.rows.len() - stuck
        ),
        Verdict::graded(stuck > 0 && freed == stuck && lost == 0, freed > lost),
    );
    (changed, claim.open())
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let rows: Vec<OverlapRow> = records.csv("overlaps.csv")?;
    let seeds: Vec<SeedRow> = records.csv("seeds.csv")?;
    let mut runs: Vec<&str> = rows.iter().map(|r| r.run.as_str()).collect();
    runs.dedup();
    let on_the_way = |run: &&str| {
        let of_run: Vec<&OverlapRow> = rows.iter().filter(|r| r.run == *run).collect();
        let mut seeds: Vec<u64> = of_run.iter().map(|r| r.seed).collect();
        seeds.dedup();
        let mut labelled = [false; 2];
        let mut curve = |seed: &u64| {
            let of_seed: Vec<_> = of_run.iter().filter(|r| r.seed == *seed).collect();
            let td = of_seed.first().is_some_and(|r| r.td);
            let named = std::mem::replace(&mut labelled[usize::from(td)], true);
            let label = match (named, td) {
                (true, _) => "",
                (false, true) => "becomes TD",
                (false, false) => "stays stuck (dashed)",
            };
            let x = of_seed.iter().map(|r| r.tasks as f64).collect();
            let y = of_seed.iter().map(|r| r.overlap.max(1e-4)).collect();
            Curve { dashed: !td, ..Curve::plain(label, x, y) }
        };
        Panel::Curves(Curves {
            title: run.to_string(),
            x: Axis::linear("number of MRPs"),
            y: Axis::log("overlap with TD's direction"),
            curves: seeds.iter().map(&mut curve).collect(),
            ..Default::default()
        })
    };
    let mut of_changes: Vec<&str> = seeds.iter().map(|r| r.run.as_str()).collect();
    of_changes.dedup();
    let curve = |run: &&str| {
        let of_run = seeds.iter().filter(|r| r.run == *run);
        let mut y: Vec<f64> = of_run.map(|r| r.explained.max(0.0)).collect();
        y.sort_by(f64::total_cmp);
        Curve::plain(run, (1..=y.len()).map(|i| i as f64).collect(), y)
    };
    let of_changes = Panel::Curves(Curves {
        title: "What TD(0) explains at the end".into(),
        x: Axis::linear("seeds, each curve in its own order"),
        y: Axis::fixed("share of |v|²", 0.0, 1.05),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn seeds(explained_and_early: &[(f64, f64)]) -> Seeds {
        let row = |(i, (explained, early)): (usize, &(f64, f64))| SeedRow {
            run: String::new(),
            seed: i as u64,
            explained: *explained,
            early: *early,
        };
        let rows = explained_and_early.iter().enumerate().map(row).collect();
        Seeds { run: "", runs: Vec::new(), rows }
    }

    #[test]
    fn an_overlap_separates_or_not() {
        let apart = seeds(&[(0.95, 0.3), (0.97, 0.2), (0.1, 0.1)]);
        let mixed = seeds(&[(0.95, 0.3), (0.97, 0.05), (0.1, 0.1)]);
        let not = seeds(&[(0.95, 0.01), (0.97, 0.05), (0.1, 0.1)]);
        assert_eq!((apart.separation(), mixed.separation(), not.separation()), (1.0, 0.5, 0.0));
        let verdict = |held_out| decided_early(&apart, held_out).verdict;
        assert_eq!((verdict(&apart), verdict(&not)), (Verdict::Holds, Verdict::DoesNotHold));
        // Without a stuck seed there is nothing to be shown.
        assert_eq!(verdict(&seeds(&[(0.95, 0.3)])), Verdict::DoesNotHold);
    }

    #[test]
    fn a_change_frees_all_or_some_or_none() {
        let before = seeds(&[(0.95, 0.0), (0.1, 0.0), (0.2, 0.0)]);
        let verdict = |ends: [f64; 3]| {
            frees(&CHANGES[0], &before, &seeds(&ends.map(|end| (end, 0.0)))).1.verdict
        };
        assert_eq!(verdict([0.95; 3]), Verdict::Holds);
        assert_eq!(verdict([0.95, 0.95, 0.1]), Verdict::HoldsInPart);
        assert_eq!(verdict([0.1, 0.95, 0.1]), Verdict::DoesNotHold);
    }
}
