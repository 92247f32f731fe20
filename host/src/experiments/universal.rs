//! The model that ships: its training, and how good it is beside the classical algorithms.

use super::experiment::{Entry, Experiment, Measured, Run, run};
use super::statistics::mean_and_stderr;
use crate::error::{Doing, Error};
use crate::options;
use crate::run::progress;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict, number, table};
use crate::run::session::Session;
use crate::train::options::LossKind;
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use ictd_core::UniversalModel;
use ictd_core::context::{Context, Growing};
use ictd_core::layer::UniversalLayer;
use ictd_core::linalg::linear_system;
use ictd_core::mask::TdLambda;
use ictd_core::rng::{Rng, Stream};
use ictd_core::tasks::{self, Mrp, Task as _};
use ictd_core::training::{UniversalSettings, UniversalTraining};
use ictd_core::transformer::Transformer;
use nalgebra::{SMatrix, SVector};
use serde::{Deserialize, Serialize};

/// The most states of a task.
const STATES: usize = 32;
/// Layers of the model.
const LAYERS: usize = 3;
/// The trace decay of LSTD(lambda) and TD(lambda) beside the model.
const LAMBDA: f64 = 0.9;
/// The contexts that are judged.
const LENGTHS: [u64; 11] = [1, 2, 3, 5, 8, 12, 20, 30, 50, 100, 200];
/// The step sizes and ridges that are tried for the classical algorithms.
const GRID: [f64; 12] = [0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.16, 10.0, 30.0];
/// The dimensions of training tasks, drawn from this list.
const DIMENSIONS: [usize; 8] = [2, 4, 4, 8, 2, 4, 8, 16];
/// Of so many tasks in turn all but the last four are Boyan's chains with random rewards, which are the
/// hardest; more of the others make those better and these worse.
const TURN: u64 = 28;

/// One model for every feature dimension, context length and unit: trained, and judged
///
/// Trains the model that ships (`--model universal`) from nothing: 100,000 steps of Adam, each on one task and
/// 16 contexts of 1 to 400 transitions; tasks are Boyan's chains with random rewards and, one in 28 each,
/// representable chains, random MDPs, Loop, and random MDPs with random rewards, with 2 to 16 features and
/// discounts of 0.3 to 0.98. Then judges it on fresh tasks, against the number of transitions seen, beside
/// online TD(0.9) and LSTD(0.9) with the best step size and ridge for each number of transitions in
/// hindsight, and LSTD(0.9) with one ridge.
#[derive(Clone, Debug, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Universal {
    /// Steps of training; 0 judges the numbers that ship
    #[arg(long, default_value = "100000", value_parser = options::integer(0..=100_000_000))]
    pub steps: usize,
    /// What it is trained towards
    #[arg(long, value_enum, default_value = "true-value")]
    pub loss: LossKind,
    /// Fresh tasks for each family and dimension
    #[arg(long, default_value = "500", value_parser = options::integer(2..=1_000_000))]
    pub tasks: usize,
    /// Discount factor gamma of the fresh tasks
    #[arg(long, default_value = "0.9", value_parser = options::real(0.0..1.0))]
    pub gamma: f64,
}

impl Default for Universal {
    fn default() -> Self {
        options::parsed("")
    }
}

/// A family of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Family {
    Boyan,
    Representable,
    Mdp,
    Loop,
    Dense,
}

impl Family {
    fn name(self) -> &'static str {
        match self {
            Family::Boyan => "Boyan's chains",
            Family::Representable => "representable chains",
            Family::Mdp => "random MDPs",
            Family::Loop => "Loop",
            Family::Dense => "random MDPs, random rewards",
        }
    }

    fn draw<R: ictd_core::scalar::Real, const D: usize>(
        self,
        states: usize,
        gamma: R,
        rng: &mut Rng,
    ) -> Result<Mrp<R, D, STATES>, ictd_core::Error> {
        match self {
            Family::Boyan => tasks::boyan_chain(states, rng),
            Family::Representable => tasks::boyan_chain_representable(states, gamma, rng),
            Family::Mdp => tasks::random_mdp(states, 3, gamma, rng),
            Family::Loop => tasks::loop_mrp(states, R::from_f64(0.5), gamma, rng),
            Family::Dense => {
                let task: Mrp<R, D, STATES> = tasks::random_mdp(states, 3, gamma, rng)?;
                let reward =
                    SVector::from_fn(|_, _| rng.uniform_in(R::from_f64(-1.0), R::from_f64(1.0)));
                let p = SMatrix::from_fn(|s, next| task.transition_from(s)[next]);
                let phi = SMatrix::from_fn(|i, s| task.feature_map()[s][i]);
                Mrp::new(states, task.initial(), &p, &reward, &phi)
            }
        }
    }
}

/// How many states a task with so many features has.
fn states(d: usize) -> usize {
    (2 * d).max(10)
}

/// The families and dimensions that are judged.
const CELLS: [(Family, usize); 7] = [
    (Family::Boyan, 4),
    (Family::Boyan, 2),
    (Family::Boyan, 8),
    (Family::Boyan, 16),
    (Family::Representable, 4),
    (Family::Mdp, 4),
    (Family::Loop, 4),
];

/// One row of `errors.csv`: errors over that of predicting 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorRow {
    family: String,
    dimension: usize,
    transitions: u64,
    universal: f64,
    stderr: f64,
    median: f64,
    percentile_99_9: f64,
    lstd_hindsight: f64,
    lstd_one_ridge: f64,
    td_hindsight: f64,
}

/// One row of `numbers.csv`: ten numbers of a layer, in the bits of `f32`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NumbersRow {
    layer: usize,
    part: String,
    p1: f32,
    p2: f32,
    p3: f32,
    p4: f32,
    p5: f32,
    q1: f32,
    q2: f32,
    q3: f32,
    q4: f32,
    q5: f32,
}

/// What is found.
#[derive(Serialize)]
pub struct Found {
    ships: bool,
    training_loss: Option<f32>,
    errors: Vec<ErrorRow>,
}

type Model = UniversalModel<f64>;

impl Experiment for Universal {
    const ENTRY: Entry = Entry {
        id: "universal",
        figure: "none: one model for any dimension, length and unit",
        figures,
        run: Run::Fixed(|session| run(&Universal::default(), session)),
    };

    type Found = Found;

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Found> {
        let shipped = UniversalModel::<f32>::universal(0.9).doing("the model that ships")?;
        let shipped = shipped.transformer();
        let (layers, training_loss) = match self.steps {
            0 => (shipped.layers().to_vec(), None),
            _ => session.on_thread(|| self.train(session))?,
        };
        records.put_csv("numbers.csv", &numbers(&layers))?;
        let ships = layers == shipped.layers();
        let transformer = Transformer::sequential(
            &layers.iter().map(|layer| layer.map(f64::from)).collect::<Vec<_>>(),
        );
        let transformer = transformer.doing("the trained numbers")?;
        let mask = TdLambda::new(Model::TRACE * self.gamma).doing("the mask")?;
        let model = Model::new(transformer, mask, Model::PRIOR_COUNT, self.gamma);
        let model = model.doing("the trained model")?;
        let mut errors = Vec::new();
        for (family, d) in CELLS {
            let mut seeds = Rng::stream(session.seed ^ (d as u64) << 32, Stream::Evaluation);
            let seeds: Vec<_> = (0..self.tasks).map(|_| seeds.next_u64()).collect();
            let label = format!("{}, d = {d}", family.name());
            let judged = session.map(&label, &seeds, |&seed| {
                let of_task = match d {
                    2 => judge::<2>(&model, family, seed),
                    4 => judge::<4>(&model, family, seed),
                    8 => judge::<8>(&model, family, seed),
                    _ => judge::<16>(&model, family, seed),
                };
                of_task.doing(label.clone())
            })?;
            errors.extend(rows(family, d, &judged));
        }
        records.put_csv("errors.csv", &errors)?;
        let claims = self.claims(&errors, ships);
        Ok((Found { ships, training_loss, errors }, claims))
    }

    fn text(found: &Found) -> String {
        let mut rows = vec![
            ["tasks", "d", "n", "universal", "LSTD hindsight", "LSTD one ridge", "TD hindsight"]
                .map(str::to_owned),
        ];
        rows.extend(
            found.errors.iter().filter(|row| [1, 5, 30, 200].contains(&row.transitions)).map(
                |row| {
                    let error = |x: f64| number(x, 3);
                    [
                        row.family.clone(),
                        row.dimension.to_string(),
                        row.transitions.to_string(),
                        format!("{} ± {}", error(row.universal), error(row.stderr)),
                        error(row.lstd_hindsight),
                        error(row.lstd_one_ridge),
                        error(row.td_hindsight),
                    ]
                },
            ),
        );
        table(&rows)
    }
}

impl Universal {
    /// The layers after training, and the mean loss of its last tenth.
    fn train(&self, session: &Session) -> Result<(Vec<UniversalLayer<f32>>, Option<f32>), Error> {
        let (steps, loss) = (self.steps as u64, self.loss.into());
        let settings = UniversalSettings { steps, loss, ..Default::default() };
        let mut training = UniversalTraining::<LAYERS>::new(settings).doing("training")?;
        let mut rng = Rng::stream(session.seed, Stream::Tasks);
        let bar = progress::bar("universal", steps, session.quiet);
        let (mut sum, mut count) = (0.0, 0.0);
        for step in 0..steps {
            if progress::interrupted() {
                return Err(Error::Interrupted);
            }
            let family = match step % TURN {
                24 => Family::Dense,
                25 => Family::Representable,
                26 => Family::Mdp,
                27 => Family::Loop,
                _ => Family::Boyan,
            };
            let loss = match DIMENSIONS[rng.below(8) as usize] {
                2 => one_step::<2>(&mut training, family, &mut rng),
                4 => one_step::<4>(&mut training, family, &mut rng),
                8 => one_step::<8>(&mut training, family, &mut rng),
                _ => one_step::<16>(&mut training, family, &mut rng),
            };
            let loss = loss.doing(format!("step {step}"))?;
            if step >= steps / 10 * 9 {
                (sum, count) = (sum + loss, count + 1.0);
            }
            bar.inc(1);
        }
        Ok((training.transformer().layers().to_vec(), Some(sum / count)))
    }

    fn claims(&self, errors: &[ErrorRow], ships: bool) -> Vec<Claim> {
        let mut claims = Vec::new();
        let share = |rows: &[&ErrorRow], reference: fn(&ErrorRow) -> f64| {
            let ratios: Vec<f64> = rows.iter().map(|r| r.universal / reference(r)).collect();
            let worst = ratios.iter().fold(0.0, |a: f64, b| a.max(*b));
            let mean = ratios.iter().map(|x| libm::log(*x)).sum::<f64>() / ratios.len() as f64;
            (libm::exp(mean), worst)
        };
        let (boyan, others): (Vec<_>, Vec<_>) =
            errors.iter().partition(|row| row.family == Family::Boyan.name());
        for (name, rows) in [("Boyan's chains", boyan), ("other families", others)] {
            for (baseline, reference, limit) in [
                (
                    "LSTD(0.9) with the best ridge in hindsight",
                    (|r: &ErrorRow| r.lstd_hindsight) as fn(&ErrorRow) -> f64,
                    1.05,
                ),
                ("LSTD(0.9) with one ridge", |r| r.lstd_one_ridge, 1.05),
                ("TD(0.9) with the best step size in hindsight", |r| r.td_hindsight, 1.05),
            ] {
                let (mean, worst) = share(&rows, reference);
                let verdict = match (mean <= 1.0, worst <= limit) {
                    (true, true) => Verdict::Holds,
                    (true, false) => Verdict::HoldsInPart,
                    _ => Verdict::DoesNotHold,
                };
                claims.push(Claim::new(
                    format!("{name}: as good as {baseline}"),
                    "error ratio at most 1 in the geometric mean, 1.05 at any length",
                    format!("{} in the mean, at most {}", number(mean, 3), number(worst, 3)),
                    verdict,
                ));
            }
        }
        for (name, is_boyan, limit, accepted) in [
            ("Boyan's chains", true, 5.0, "99.9th percentile at most 5 times predicting 0"),
            ("other families", false, 10.0, "99.9th percentile at most 10 times predicting 0"),
        ] {
            let worst = (errors.iter())
                .filter(|row| (row.family == Family::Boyan.name()) == is_boyan)
                .map(|row| row.percentile_99_9)
                .fold(0.0, f64::max);
            claims.push(Claim::new(
                format!("{name}: no context explodes"),
                accepted,
                format!("at most {}", number(worst, 2)),
                Verdict::of(worst <= limit),
            ));
        }
        let defaults = Universal::default();
        if self.steps == defaults.steps && self.loss == defaults.loss {
            claims.push(Claim::new(
                "the same bits on every machine",
                "the trained numbers are those that ship (seed 0)",
                if ships { "equal" } else { "other numbers" },
                Verdict::of(ships),
            ));
        }
        claims
    }
}

fn one_step<const D: usize>(
    training: &mut UniversalTraining<LAYERS>,
    family: Family,
    rng: &mut Rng,
) -> Result<f32, ictd_core::Error> {
    // 1 - gamma is log-uniform between 0.02 and 0.7.
    let (low, high) = (libm::logf(0.02), libm::logf(0.7));
    let gamma = 1.0 - libm::expf(rng.uniform_in(low, high));
    let task: Mrp<f32, D, STATES> = family.draw(states(D), gamma, rng)?;
    training.step(&task, gamma, rng)
}

/// The errors of one task at each length: of the model, and of LSTD and TD for each of the grid.
struct Judged {
    universal: [f64; LENGTHS.len()],
    lstd: [[f64; GRID.len()]; LENGTHS.len()],
    td: [[f64; GRID.len()]; LENGTHS.len()],
}

fn judge<const D: usize>(
    model: &Model,
    family: Family,
    seed: u64,
) -> Result<Judged, ictd_core::Error> {
    let (mut rng, gamma) = (Rng::new(seed), model.gamma());
    let task: Mrp<f64, D, STATES> = family.draw(states(D), gamma, &mut rng)?;
    let (v, d_p) = (task.true_value(gamma)?, task.stationary_distribution()?);
    let of_zero = task.msve(&d_p, &SVector::zeros(), &v);
    let error = |value: &dyn Fn(&SVector<f64, D>) -> f64| {
        let v_hat = SVector::from_fn(|s, _| value(&task.feature_map()[s]));
        let error = task.msve(&d_p, &v_hat, &v) / of_zero;
        // What diverged counts as a thousand.
        if error < 1e3 { error } else { 1e3 }
    };
    let mut context = Context::<D, _, Growing, f64>::with(*model.mask(), Growing);
    let (mut a, mut b, mut trace) =
        (SMatrix::<f64, D, D>::zeros(), SVector::zeros(), SVector::<f64, D>::zeros());
    let mut td = [SVector::<f64, D>::zeros(); GRID.len()];
    let mut state = task.initial_state(&mut rng);
    let mut judged = Judged {
        universal: [0.0; LENGTHS.len()],
        lstd: [[0.0; GRID.len()]; LENGTHS.len()],
        td: [[0.0; GRID.len()]; LENGTHS.len()],
    };
    for (at, n) in LENGTHS.into_iter().enumerate() {
        while context.len() < n {
            let t = task.transition(&mut state, &mut rng);
            context.observe_transition(&t)?;
            trace = trace * (LAMBDA * gamma) + t.phi;
            let difference = t.phi - t.phi_next * gamma;
            a += trace * difference.transpose();
            b += trace * t.reward;
            for (w, alpha) in td.iter_mut().zip(GRID) {
                let delta = t.reward - w.dot(&difference);
                *w += trace * (alpha * delta);
            }
        }
        let value = model.value_function(&context)?;
        judged.universal[at] = error(&|phi| value.at(phi));
        for (i, ridge) in GRID.into_iter().enumerate() {
            let mut regularised = a;
            for j in 0..D {
                regularised[(j, j)] += ridge;
            }
            let w = linear_system::solve(regularised, b, D, "LSTD")
                .unwrap_or_else(|_| SVector::zeros());
            judged.lstd[at][i] = error(&|phi| w.dot(phi));
            judged.td[at][i] = error(&|phi| td[i].dot(phi));
        }
    }
    Ok(judged)
}

/// The rows of a family and dimension.
fn rows(family: Family, d: usize, judged: &[Judged]) -> Vec<ErrorRow> {
    let mean = |of: &dyn Fn(&Judged) -> f64| mean_and_stderr(judged.iter().map(of)).0;
    let least = |of: &dyn Fn(usize) -> f64| (0..GRID.len()).map(of).fold(f64::INFINITY, f64::min);
    let lstd = |at: usize, i: usize| mean(&|j| j.lstd[at][i]);
    // One ridge for all lengths: the one with the least sum of errors.
    let sum = |i: usize| (0..LENGTHS.len()).map(|at| lstd(at, i)).sum::<f64>();
    let one = (0..GRID.len()).min_by(|a, b| sum(*a).total_cmp(&sum(*b))).unwrap_or(0);
    let of_length = |(at, n): (usize, u64)| {
        let (universal, stderr) = mean_and_stderr(judged.iter().map(|j| j.universal[at]));
        let mut sorted: Vec<_> = judged.iter().map(|j| j.universal[at]).collect();
        sorted.sort_by(f64::total_cmp);
        let quantile = |q: f64| sorted[((sorted.len() - 1) as f64 * q).ceil() as usize];
        ErrorRow {
            family: family.name().into(),
            dimension: d,
            transitions: n,
            universal,
            stderr,
            median: quantile(0.5),
            percentile_99_9: quantile(0.999),
            lstd_hindsight: least(&|i| lstd(at, i)),
            lstd_one_ridge: lstd(at, one),
            td_hindsight: least(&|i| mean(&|j| j.td[at][i])),
        }
    };
    LENGTHS.into_iter().enumerate().map(of_length).collect()
}

fn numbers(layers: &[UniversalLayer<f32>]) -> Vec<NumbersRow> {
    let parts = layers.iter().enumerate().flat_map(|(layer, numbers)| {
        [("base", numbers.base), ("early", numbers.early)].map(|(part, ten)| (layer, part, ten))
    });
    parts
        .map(|(layer, part, ten)| {
            let ([p1, p2, p3, p4, p5], [q1, q2, q3, q4, q5]) = (ten.p, ten.q);
            NumbersRow { layer, part: part.into(), p1, p2, p3, p4, p5, q1, q2, q3, q4, q5 }
        })
        .collect()
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let rows: Vec<ErrorRow> = records.csv("errors.csv")?;
    let panel = |(family, d): (Family, usize)| {
        let of: Vec<_> =
            rows.iter().filter(|row| row.family == family.name() && row.dimension == d).collect();
        let x: Vec<f64> = of.iter().map(|row| row.transitions as f64).collect();
        let curve = |label: &str, y: fn(&ErrorRow) -> f64, dashed| Curve {
            dashed,
            ..Curve::plain(label, x.clone(), of.iter().map(|row| y(row)).collect())
        };
        Panel::Curves(Curves {
            title: format!("{}, d = {d}", family.name()),
            x: Axis::log("transitions seen"),
            y: Axis::from_zero("error / error of predicting 0"),
            curves: vec![
                curve("universal", |r| r.universal, false),
                curve("LSTD(0.9), hindsight", |r| r.lstd_hindsight, true),
                curve("TD(0.9), hindsight", |r| r.td_hindsight, true),
            ],
            ..Default::default()
        })
    };
    let figure = Figure {
        title: "One model for every dimension, context length and unit".into(),
        subtitle: "mean over fresh tasks; hindsight: the best ridge or step size for each length"
            .into(),
        panels: CELLS.map(panel).into(),
        columns: 4,
    };
    Ok(vec![("universal".into(), figure)])
}
