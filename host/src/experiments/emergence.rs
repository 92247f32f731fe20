//! Which algorithms emerge: what multi-task training finds under the masks and losses of the paper's other
//! constructions.

use super::experiment::{Entry, Experiment, Measured, Run, run};
use super::function::{Candidate, EXPLAINED, Explained, Judge, layers, two_head_layers, wilson};
use super::learning::{self, Scale};
use super::statistics::{quartiles, spread};
use crate::error::Error;
use crate::options;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict, table};
use crate::run::session::Session;
use crate::train::log::SeedRun;
use crate::train::options::Train;
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use ictd_core::metrics::{Algorithm, Blocks, FORM_SHARE, Pattern};
use nalgebra::SMatrix;
use serde::{Deserialize, Serialize};

/// Which algorithms emerge from multi-task training, beside TD(0)
///
/// The paper leaves open whether TD(lambda), average-reward TD and the residual gradient emerge as TD(0)
/// does. Here are trained, with L = 1 to 4: TD(lambda)'s mask, two heads by the differential TD error, TD(0)'s
/// mask by the residual gradient, and TD(0) itself. Each seed is judged by its function on fresh tasks (which
/// algorithm, with L step sizes fitted on half of them, explains how much of |v|^2 on the others), by the form of its
/// parameters, block by block, and by what projecting them on their invariant set loses.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Emergence {
    /// How much is trained.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
    /// Fresh tasks to judge functions on
    #[arg(long, default_value = "60", value_parser = options::integer(2..=100_000))]
    pub tasks: usize,
}

/// A way to train, and what should emerge.
struct Family {
    /// Its runs' names, before `-l` and the number of layers.
    id: &'static str,
    /// The algorithm that should emerge, by its name.
    expected: &'static str,
    options: &'static str,
    candidates: &'static [Candidate],
}

const fn discounted(name: &'static str, algorithm: Algorithm) -> Candidate {
    Candidate { name, algorithm, gamma: 0.9 }
}

/// Of a network with one head.
const DISCOUNTED: &[Candidate] = &[
    discounted("TD(0)", Algorithm::Td0),
    discounted("TD(0.3)", Algorithm::TdLambda(0.3)),
    discounted("TD(0.6)", Algorithm::TdLambda(0.6)),
    discounted("TD(0.9)", Algorithm::TdLambda(0.9)),
    discounted("residual gradient", Algorithm::ResidualGradient),
];

/// Of two heads: also without a discount, but with the rewards as they are.
const DIFFERENTIAL: &[Candidate] = &[
    Candidate { name: "average-reward TD", algorithm: Algorithm::AverageReward, gamma: 1.0 },
    Candidate { name: "TD(0), gamma = 1", algorithm: Algorithm::Td0, gamma: 1.0 },
    discounted("TD(0), gamma = 0.9", Algorithm::Td0),
    Candidate { name: "residual gradient", algorithm: Algorithm::ResidualGradient, gamma: 1.0 },
];

const fn family(id: &'static str, expected: &'static str, options: &'static str) -> Family {
    Family { id, expected, options, candidates: DISCOUNTED }
}

const FAMILIES: &[Family] = &[
    family("linear", "TD(0)", ""),
    family("lambda-0.3", "TD(0.3)", "--lambda 0.3"),
    family("lambda-0.6", "TD(0.6)", "--lambda 0.6"),
    family("lambda-0.9", "TD(0.9)", "--lambda 0.9"),
    Family { candidates: DIFFERENTIAL, ..family("two-heads", "average-reward TD", "--heads 2") },
    family("residual-gradient", "residual gradient", "--loss residual-gradient"),
];

const DEPTHS: [usize; 4] = [1, 2, 3, 4];

impl Family {
    fn run(&self, depth: usize) -> String {
        format!("{}-l{depth}", self.id)
    }

    fn options(&self, depth: usize, scale: &Scale) -> Train {
        scale.apply(options::parsed(&format!("{} --layers {depth}", self.options)))
    }

    /// Q of the construction. One layer starts from weights 0: of its Q only what the rewards see is learned.
    fn pattern(&self, depth: usize) -> Pattern {
        let residual = self.id == "residual-gradient";
        Pattern::of_blocks(match (residual, depth) {
            (false, 1) => [[-1.0, 0.0], [0.0, 0.0]],
            (false, _) => [[-1.0, 1.0], [0.0, 0.0]],
            (true, 1) => [[-1.0, 0.0], [1.0, 0.0]],
            (true, _) => [[-1.0, 1.0], [1.0, -1.0]],
        })
    }

    /// The shares of P's and Q's energy in the construction's form: the least of the heads, whose P is W P, and of
    /// the stored layers. Negative if they point the other way.
    fn form(&self, depth: usize, run: &SeedRun) -> [f64; 2] {
        let corner = |row: usize, column: usize| {
            let mut pattern = Pattern::default();
            pattern.corner[row][column] = 1.0;
            pattern
        };
        let mut least = [f64::INFINITY; 2];
        let mut of = |[p, q]: [Blocks; 2], corner: Pattern| {
            let [p, q] = [p.along(&corner), q.along(&self.pattern(depth))];
            // Both negated are the same layer.
            let aligned = if p < 0.0 { [-p, -q] } else { [p, q] };
            least = [0, 1].map(|i| f64::min(least[i], aligned[i]));
        };
        for layer in layers(run) {
            of([blocks(&layer.p), blocks(&layer.q)], corner(0, 0));
        }
        for layer in two_head_layers(run).iter().filter(|_| self.candidates == DIFFERENTIAL) {
            of([blocks(&(layer.w1 * layer.p1)), blocks(&layer.q1)], corner(1, 0));
            of([blocks(&(layer.w2 * layer.p2)), blocks(&layer.q2)], corner(1, 1));
        }
        least
    }
}

fn blocks<const K: usize>(m: &SMatrix<f64, K, K>) -> Blocks {
    Blocks::of(4, K, |i, j| m[(i, j)])
}

/// One row of `functions.csv`: the share of a seed's |v|^2 that an algorithm explains.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FunctionRow {
    run: String,
    layers: usize,
    seed: u64,
    algorithm: String,
    share: f64,
}

/// One row of `seeds.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SeedRow {
    run: String,
    seed: u64,
    /// The shares of P's and Q's energy in the form that should emerge.
    form_p: f64,
    form_q: f64,
    /// The share of the parameters' energy outside of the invariant set.
    outside: f64,
    /// The share of |v|^2 that is lost by projecting them on it.
    lost: f64,
}

/// A run, in medians over its seeds.
#[derive(Serialize)]
struct RunFound {
    run: String,
    expected: &'static str,
    /// The share that the expected algorithm explains, and of how many seeds it is the one that does.
    explained: f64,
    is_it: usize,
    /// The other that explains most in the median, and how much.
    other: &'static str,
    other_explained: f64,
    has_form: usize,
    form_p: f64,
    form_q: f64,
    outside: f64,
    lost: f64,
}

/// What is judged of a run.
struct Judged {
    layers: usize,
    seeds: usize,
    is_it: usize,
    explained: Vec<f64>,
    has_form: usize,
    form_q: Vec<f64>,
    lost: Vec<f64>,
}

/// What is found.
#[derive(Serialize)]
pub struct Found {
    runs: Vec<RunFound>,
}

impl Experiment for Emergence {
    const ENTRY: Entry = Entry {
        id: "emergence",
        figure: "Beyond the paper: which algorithms emerge",
        figures,
        run: Run::Scaled(|scale, session| {
            run(&Emergence { scale: scale.clone(), ..options::parsed("") }, session)
        }),
    };

    type Found = Found;

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Found> {
        let (mut found, mut claims) = (Vec::new(), Vec::new());
        let (mut functions, mut rows) = (Vec::new(), Vec::new());
        for family in FAMILIES {
            let mut judged = Vec::new();
            for depth in DEPTHS {
                let (name, train) = (family.run(depth), family.options(depth, &self.scale));
                let seeds = learning::trained(&name, &train, session)?;
                let judge = Judge::new(&train.recipe, family.candidates, self.tasks, session.seed)?;
                let explained: Vec<Explained> =
                    session.map(&name, &seeds, |run| judge.explain(run))?;
                let forms: Vec<_> = seeds.iter().map(|run| family.form(depth, run)).collect();
                for ((run, of), form) in seeds.iter().zip(&explained).zip(&forms) {
                    for (candidate, share) in family.candidates.iter().zip(&of.shares) {
                        functions.push(FunctionRow {
                            run: family.id.into(),
                            layers: depth,
                            seed: run.seed,
                            algorithm: candidate.name.into(),
                            share: *share,
                        });
                    }
                    rows.push(SeedRow {
                        run: name.clone(),
                        seed: run.seed,
                        form_p: form[0],
                        form_q: form[1],
                        outside: of.outside,
                        lost: of.lost,
                    });
                }
                let of = of_run(family, name, &explained, &forms);
                judged.push(Judged {
                    layers: depth,
                    seeds: seeds.len(),
                    is_it: of.is_it,
                    explained: of_expected(family, &explained),
                    has_form: of.has_form,
                    form_q: forms.iter().map(|form| form[1]).collect(),
                    lost: explained.iter().map(|of| of.lost).collect(),
                });
                found.push(of);
            }
            claims.extend(judge(family, &judged));
        }
        records.put_csv("functions.csv", &functions)?;
        records.put_csv("seeds.csv", &rows)?;
        Ok((Found { runs: found }, claims))
    }

    fn text(found: &Found) -> String {
        let head =
            ["run", "expected", "explains", "seeds", "best other", "explains", "form: P", "Q"]
                .map(str::to_owned);
        let row = |f: &RunFound| {
            let number = |x: f64| format!("{x:.3}");
            [
                f.run.clone(),
                f.expected.into(),
                number(f.explained),
                f.is_it.to_string(),
                f.other.into(),
                number(f.other_explained),
                number(f.form_p),
                number(f.form_q),
            ]
        };
        let rows: Vec<_> = std::iter::once(head).chain(found.runs.iter().map(row)).collect();
        format!("{}\n", table(&rows))
    }
}

fn place(family: &Family) -> usize {
    family.candidates.iter().position(|c| c.name == family.expected).unwrap_or(0)
}

/// What the algorithm that should emerge explains of each seed.
fn of_expected(family: &Family, explained: &[Explained]) -> Vec<f64> {
    explained.iter().map(|of| of.shares[place(family)]).collect()
}

fn of_run(family: &Family, run: String, explained: &[Explained], forms: &[[f64; 2]]) -> RunFound {
    let median = |values: Vec<f64>| quartiles(values)[1];
    let at = place(family);
    let of = |i: usize| median(explained.iter().map(|of| of.shares[i]).collect());
    let others = (0..family.candidates.len()).filter(|i| *i != at);
    let other = others.max_by(|a, b| of(*a).total_cmp(&of(*b))).unwrap_or(at);
    let has_form = |form: &&[f64; 2]| form.iter().all(|share| *share >= FORM_SHARE);
    RunFound {
        run,
        expected: family.expected,
        explained: of(at),
        is_it: explained.iter().filter(|of| of.is(at)).count(),
        other: family.candidates[other].name,
        other_explained: of(other),
        has_form: forms.iter().filter(has_form).count(),
        form_p: median(forms.iter().map(|form| form[0]).collect()),
        form_q: median(forms.iter().map(|form| form[1]).collect()),
        outside: median(explained.iter().map(|of| of.outside).collect()),
        lost: median(explained.iter().map(|of| of.lost).collect()),
    }
}

/// For a claim about most seeds at each depth: it holds if the 95 % interval of their share is above a half at
/// every depth, and in part if it is at some.
fn of_most_seeds(counts: impl Iterator<Item = (usize, usize)> + Clone) -> Verdict {
    let mut most = counts.map(|(holding, seeds)| wilson(holding, seeds)[0] > 0.5);
    let at_some = most.clone().any(|most| most);
    Verdict::graded(most.all(|most| most), at_some)
}

fn judge(family: &Family, runs: &[Judged]) -> [Claim; 3] {
    let Family { expected, id, .. } = family;
    let all = |text: &dyn Fn(&Judged) -> String| {
        let texts: Vec<_> = runs.iter().map(|r| format!("L = {}: {}", r.layers, text(r))).collect();
        texts.join("; ")
    };
    let paper = if *id == "linear" { "emerges" } else { "left for future work" };
    let function = Claim::new(
        format!("{id}: {expected} emerges as the function"),
        paper,
        format!(
            "explains at least {EXPLAINED} of |v|^2 and more than others do: {}",
            all(&|r| format!("{} of {} seeds, {}", r.is_it, r.seeds, spread(&r.explained)))
        ),
        of_most_seeds(runs.iter().map(|r| (r.is_it, r.seeds))),
    );
    let form = Claim::new(
        format!("{id}: P and Q take the form of {expected}"),
        paper,
        format!(
            "at least {FORM_SHARE} of P's and of Q's energy: {}",
            all(&|r| format!("{} of {} seeds, Q {}", r.has_form, r.seeds, spread(&r.form_q)))
        ),
        of_most_seeds(runs.iter().map(|r| (r.has_form, r.seeds))),
    );
    let few = |r: &Judged| r.lost.iter().filter(|lost| **lost < 0.05).count();
    let numbers =
        if family.candidates == DIFFERENTIAL { "8 numbers a matrix" } else { "ten numbers" };
    let set = Claim::new(
        format!("{id}: the invariant set has the function"),
        "not in the paper",
        format!(
            "projected on {numbers} a layer, below 0.05 of |v|^2 is lost: {}",
            all(&|r| format!("{} of {} seeds, {}", few(r), r.seeds, spread(&r.lost)))
        ),
        of_most_seeds(runs.iter().map(|r| (few(r), r.seeds))),
    );
    [function, form, set].map(Claim::open)
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let rows: Vec<FunctionRow> = records.csv("functions.csv")?;
    let mut runs: Vec<&str> = rows.iter().map(|r| r.run.as_str()).collect();
    runs.dedup();
    let panel = |run: &&str| {
        let mut names: Vec<&str> = Vec::new();
        for row in rows.iter().filter(|r| r.run == *run) {
            if !names.contains(&row.algorithm.as_str()) {
                names.push(&row.algorithm);
            }
        }
        let curve = |name: &&str| {
            let at = |depth: usize| {
                let of =
                    |r: &&FunctionRow| r.run == *run && r.layers == depth && r.algorithm == *name;
                quartiles(rows.iter().filter(of).map(|r| r.share.max(-1.0)).collect())
            };
            let quartiles = DEPTHS.map(at);
            Curve {
                label: (*name).into(),
                x: DEPTHS.map(|depth| depth as f64).to_vec(),
                y: quartiles.iter().map(|q| q[1]).collect(),
                band: quartiles.iter().map(|q| (q[0], q[2])).collect(),
                dashed: false,
            }
        };
        Panel::Curves(Curves {
            title: run.to_string(),
            x: Axis::linear("layers L"),
            y: Axis::fixed("share of |v|² explained", 0.0, 1.05),
            curves: names.iter().map(curve).collect(),
            ..Default::default()
        })
    };
    let figure = Figure {
        title: "Which algorithms emerge".into(),
        subtitle: "share of |v|² on fresh tasks that each algorithm explains with L fitted step sizes; median over \
                   seeds with quartiles"
            .into(),
        panels: runs.iter().map(panel).collect(),
        columns: 3,
    };
    Ok(vec![("emergence".into(), figure)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(is_it: usize, has_form: usize, lost: f64) -> Judged {
        let (explained, form_q) = (vec![0.95; 30], vec![0.95; 30]);
        let lost = vec![lost; 30];
        Judged { layers: 2, seeds: 30, is_it, explained, has_form, form_q, lost }
    }

    #[test]
    fn verdicts_go_either_way() {
        let verdicts = |runs: &[Judged]| judge(&FAMILIES[1], runs).map(|claim| claim.verdict);
        use Verdict::{DoesNotHold, Holds, HoldsInPart};
        assert_eq!(verdicts(&[judged(27, 28, 0.01), judged(22, 30, 0.02)]), [Holds; 3]);
        assert_eq!(verdicts(&[judged(27, 2, 0.01), judged(2, 30, 0.2)]), [HoldsInPart; 3]);
        assert_eq!(verdicts(&[judged(18, 2, 0.1), judged(2, 0, 0.2)]), [DoesNotHold; 3]);
    }

    #[test]
    fn forms_are_told_apart() {
        use crate::experiments::function::run_of;
        use ictd_core::constructions::{learning_rate, one_layer, residual_gradient, td0};
        let c = learning_rate::<f64, 4>(0.3);
        let [td, rg] = [&FAMILIES[1], &FAMILIES[5]];
        let has = |family: &Family, depth, run: &SeedRun| {
            family.form(depth, run).iter().all(|share| *share >= FORM_SHARE)
        };
        assert!(has(td, 3, &run_of(&td0(&c))) && !has(rg, 3, &run_of(&td0(&c))));
        let residual = run_of(&residual_gradient(&c));
        assert!(has(rg, 3, &residual) && !has(td, 3, &residual));
        assert!(has(td, 1, &run_of(&one_layer(&c))) && !has(td, 3, &run_of(&one_layer(&c))));
        let mut other = td0::<f64, 4, 9>(&c);
        other.p = -other.p;
        assert!(!has(td, 3, &run_of(&other)));
    }
}
