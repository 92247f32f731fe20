//! Which algorithms emerge: what multi-task training finds under the masks and losses of the paper's other
//! constructions.

use super::claims::{Judgement, share_of_seeds};
use super::experiment::{Entry, Experiment, Measured, Run, run};
use super::function::{
    self, CANDIDATES, CONTEXTS, Candidate, EXPLAINED, Function, Heads, Judge, candidate,
};
use super::learning::{self, Scale};
use super::panels;
use super::statistics::{median, quartiles, spread};
use crate::error::{Doing, Error};
use crate::options;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict, table};
use crate::run::session::Session;
use crate::train::log::SeedRun;
use crate::train::options::{Recipe, Train};
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use ictd_core::layer::{Layer, TwoHeadLayer};
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
}

type OneHead = Layer<f64, 9>;
type TwoHeads = TwoHeadLayer<f64, 10>;

/// A way to train, and what should emerge.
pub struct Family {
    /// Its runs' names, before `-l` and the number of layers.
    id: &'static str,
    /// The algorithm that should emerge: which candidate.
    expected: usize,
    options: &'static str,
    candidates: &'static [Candidate],
}

/// Of two heads: also without a discount, but with the rewards as they are.
const DIFFERENTIAL: &[Candidate] = &[
    candidate("average-reward TD", Algorithm::AverageReward),
    Candidate { gamma: Some(1.0), ..candidate("TD(0), gamma = 1", Algorithm::Td0) },
    candidate("TD(0), gamma = 0.9", Algorithm::Td0),
    Candidate { gamma: Some(1.0), ..candidate("residual gradient", Algorithm::ResidualGradient) },
];

const fn family(id: &'static str, expected: usize, options: &'static str) -> Family {
    Family { id, expected, options, candidates: CANDIDATES }
}

/// What is trained, each at every depth.
pub const FAMILIES: &[Family] = &[
    family("linear", 0, ""),
    family("lambda-0.3", 1, "--lambda 0.3"),
    family("lambda-0.6", 2, "--lambda 0.6"),
    family("lambda-0.9", 3, "--lambda 0.9"),
    Family { candidates: DIFFERENTIAL, ..family("two-heads", 0, "--heads 2") },
    family("residual-gradient", 4, "--loss residual-gradient"),
];

const DEPTHS: [usize; 4] = [1, 2, 3, 4];

impl Family {
    fn name(&self) -> &'static str {
        self.candidates[self.expected].name
    }

    fn run(&self, depth: usize) -> String {
        format!("{}-l{depth}", self.id)
    }

    fn options(&self, depth: usize, scale: &Scale) -> Train {
        scale.apply(options::parsed(&format!("{} --layers {depth}", self.options)))
    }

    fn functions(
        &self,
        name: &str,
        recipe: &Recipe,
        seeds: &[SeedRun],
        session: &Session,
    ) -> Result<Vec<Function>, Error> {
        if recipe.heads == 2 {
            functions::<TwoHeads>(name, recipe, self.candidates, seeds, session)
        } else {
            functions::<OneHead>(name, recipe, self.candidates, seeds, session)
        }
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

    /// The shares of P's and Q's energy in the construction's form: the least of the heads and of the stored layers.
    /// Negative if they point the other way.
    pub fn form(&self, depth: usize, run: &SeedRun) -> [f64; 2] {
        let pattern = self.pattern(depth);
        let of_one = |l: &OneHead| shares([blocks(&l.p), blocks(&l.q)], [Pattern::CORNER, pattern]);
        let one = OneHead::at_end(run).into_iter().map(|layer| of_one(&layer));
        let two = TwoHeads::at_end(run).into_iter().filter(|_| self.candidates == DIFFERENTIAL);
        least(one.chain(two.map(|layer| form_of_two_heads(&layer, pattern))))
    }
}

/// The shares of the energy of W P, of which the function is made, and of Q in average-reward TD's form with this Q:
/// the least of the heads.
pub fn form_of_two_heads(layer: &TwoHeadLayer<f64, 10>, q: Pattern) -> [f64; 2] {
    let corner = |column: usize| {
        let mut pattern = Pattern::default();
        pattern.corner[1][column] = 1.0;
        pattern
    };
    let TwoHeadLayer { p1, q1, w1, p2, q2, w2 } = layer;
    least([
        shares([blocks(&(w1 * p1)), blocks(q1)], [corner(0), q]),
        shares([blocks(&(w2 * p2)), blocks(q2)], [corner(1), q]),
    ])
}

fn least(shares: impl IntoIterator<Item = [f64; 2]>) -> [f64; 2] {
    shares.into_iter().fold([f64::INFINITY; 2], |a, b| [0, 1].map(|i| f64::min(a[i], b[i])))
}

/// The shares of a head's energy along patterns; both negated are the same layer.
fn shares([p, q]: [Blocks; 2], patterns: [Pattern; 2]) -> [f64; 2] {
    let [p, q] = [p.along(&patterns[0]), q.along(&patterns[1])];
    if p < 0.0 { [-p, -q] } else { [p, q] }
}

fn functions<L: Heads + Sync>(
    name: &str,
    recipe: &Recipe,
    candidates: &[Candidate],
    seeds: &[SeedRun],
    session: &Session,
) -> Result<Vec<Function>, Error> {
    let judge = Judge::<L, 4>::new(recipe, candidates, CONTEXTS, session.seed);
    let judge = judge.doing(format!("{name}, fresh tasks"))?;
    session.map(name, seeds, |run| judge.function(run))
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

/// What is found.
#[derive(Serialize)]
pub struct Found {
    runs: Vec<RunFound>,
}

/// A run, seed by seed.
pub struct Trained {
    /// Its layers.
    pub layers: usize,
    /// What each seed computes.
    pub functions: Vec<Function>,
    /// The shares of P's and Q's energy in the construction's form ([`Family::form`]).
    pub forms: Vec<[f64; 2]>,
}

impl Trained {
    fn all(&self, of: impl Fn(&Function) -> f64) -> Vec<f64> {
        self.functions.iter().map(of).collect()
    }

    fn form(&self, of: usize) -> Vec<f64> {
        self.forms.iter().map(|form| form[of]).collect()
    }

    fn is_it(&self, family: &Family) -> Vec<bool> {
        self.functions.iter().map(|f| function::is(&f.explained, family.expected)).collect()
    }

    fn has_form(&self) -> Vec<bool> {
        self.forms.iter().map(|form| form.iter().all(|share| *share >= FORM_SHARE)).collect()
    }

    fn found(&self, family: &Family, run: String) -> RunFound {
        let of = |i: usize| median(&self.all(|f| f.explained[i]));
        let others = (0..family.candidates.len()).filter(|i| *i != family.expected);
        let other = others.max_by(|a, b| of(*a).total_cmp(&of(*b))).unwrap_or(family.expected);
        let count = |seeds: Vec<bool>| seeds.into_iter().filter(|holds| *holds).count();
        RunFound {
            run,
            expected: family.name(),
            explained: of(family.expected),
            is_it: count(self.is_it(family)),
            other: family.candidates[other].name,
            other_explained: of(other),
            has_form: count(self.has_form()),
            form_p: median(&self.form(0)),
            form_q: median(&self.form(1)),
            outside: median(&self.all(|f| f.outside)),
            lost: median(&self.all(|f| f.lost)),
        }
    }
}

impl Experiment for Emergence {
    const ENTRY: Entry = Entry {
        id: "emergence",
        figure: "Beyond the paper: which algorithms emerge",
        figures,
        run: Run::Scaled(|scale, session| run(&Emergence { scale: scale.clone() }, session)),
    };

    type Found = Found;

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Found> {
        let (mut functions, mut rows, mut found, mut claims) = (vec![], vec![], vec![], vec![]);
        for family in FAMILIES {
            let mut runs = Vec::new();
            for layers in DEPTHS {
                let (name, train) = (family.run(layers), family.options(layers, &self.scale));
                let seeds = learning::trained(&name, &train, session)?;
                let run = Trained {
                    layers,
                    functions: family.functions(&name, &train.recipe, &seeds, session)?,
                    forms: seeds.iter().map(|run| family.form(layers, run)).collect(),
                };
                for ((SeedRun { seed, .. }, of), form) in
                    seeds.iter().zip(&run.functions).zip(&run.forms)
                {
                    for (candidate, share) in family.candidates.iter().zip(&of.explained) {
                        let algorithm = candidate.name.into();
                        let (run, seed, share) = (family.id.into(), *seed, *share);
                        functions.push(FunctionRow { run, layers, seed, algorithm, share });
                    }
                    let ([form_p, form_q], &Function { outside, lost, .. }) = (*form, of);
                    let (run, seed) = (name.clone(), *seed);
                    rows.push(SeedRow { run, seed, form_p, form_q, outside, lost });
                }
                found.push(run.found(family, name));
                runs.push(run);
            }
            claims.extend(judge(family, &runs));
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

/// A claim about every seed at every depth, from each depth's seeds of which it is true and their numbers: it holds
/// if it does at all depths, and in part if it does, or does in part, at some.
fn at_every_depth(runs: &[Trained], of: impl Fn(&Trained) -> (Vec<bool>, Vec<f64>)) -> Judgement {
    let judge = |run: &Trained| {
        let (holding, numbers) = of(run);
        let (seeds, verdict) = share_of_seeds(holding);
        (format!("L = {}: {} in {seeds}", run.layers, spread(&numbers)), verdict)
    };
    let (texts, verdicts): (Vec<_>, Vec<_>) = runs.iter().map(judge).unzip();
    let holds = verdicts.iter().all(|verdict| *verdict == Verdict::Holds);
    let in_part = verdicts.iter().any(|verdict| *verdict != Verdict::DoesNotHold);
    (texts.join("; "), Verdict::graded(holds, in_part))
}

/// Whether the algorithm, its form, and ten numbers a layer emerge at all depths.
pub fn judge(family: &Family, runs: &[Trained]) -> [Claim; 3] {
    const FEW: f64 = 0.05;
    let (id, expected) = (family.id, family.name());
    let paper = if id == "linear" { "emerges" } else { "left for future work" };
    let claim = |claim: String, paper: &str, needs: String, (measured, verdict): Judgement| {
        let measured = format!("{needs}; of the seeds a share > 0.75 (in part > 0.5): {measured}");
        Claim::new(format!("{id}: {claim}"), paper, measured, verdict).open()
    };
    let numbers =
        if family.candidates == DIFFERENTIAL { "8 numbers a matrix" } else { "ten numbers" };
    [
        claim(
            format!("{expected} emerges as the function"),
            paper,
            format!("share of |v|^2 explained, at least {EXPLAINED} and more than by others"),
            at_every_depth(runs, |run| {
                (run.is_it(family), run.all(|f| f.explained[family.expected]))
            }),
        ),
        claim(
            format!("P and Q take the form of {expected}"),
            paper,
            format!("the lesser of P's and Q's shares of energy in it, at least {FORM_SHARE}"),
            at_every_depth(runs, |run| {
                let least = run.forms.iter().map(|[p, q]| p.min(*q)).collect();
                (run.has_form(), least)
            }),
        ),
        claim(
            "the invariant set has the function".into(),
            "not in the paper",
            format!("share of |v|^2 lost by projecting on {numbers} a layer, below {FEW}"),
            at_every_depth(runs, |run| {
                let lost = run.all(|f| f.lost);
                (lost.iter().map(|lost| *lost < FEW).collect(), lost)
            }),
        ),
    ]
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let rows: Vec<FunctionRow> = records.csv("functions.csv")?;
    let runs = panels::names("functions.csv", rows.iter().map(|r| r.run.as_str()))?;
    let all = panels::names("functions.csv", rows.iter().map(|r| r.algorithm.as_str()))?;
    let panel = |run: &&str| {
        let is_here = |name: &&&str| rows.iter().any(|r| r.run == *run && r.algorithm == **name);
        let curve = |name: &&str| {
            let at = |depth: usize| {
                let of =
                    |r: &&FunctionRow| r.run == *run && r.layers == depth && r.algorithm == *name;
                quartiles(rows.iter().filter(of).map(|r| r.share.max(-1.0)).collect())
            };
            let colour = all.iter().position(|other| other == name);
            let points = DEPTHS.map(|depth| (depth as f64, at(depth)));
            Curve { colour, ..Curve::with_quartiles(name, points) }
        };
        Panel::Curves(Curves {
            title: run.to_string(),
            x: Axis::linear("layers L"),
            y: Axis::fixed("share of |v|² explained", 0.0, 1.05),
            curves: all.iter().filter(is_here).map(curve).collect(),
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
