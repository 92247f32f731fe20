//! Why Q's two diagonals are not of one size: their ratio is a discount, and training has a fixed point in it.

use super::experiment::{Entry, Experiment, Measured, Run, run};
use super::function::{Heads, wide};
use super::learning::{self, Scale};
use super::statistics::{bootstrap, mean_and_stderr, median, spread};
use crate::error::{Doing, Error};
use crate::options;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict, table};
use crate::run::session::Session;
use crate::train::log::SeedRun;
use crate::train::options::{Recipe, Train};
use crate::train::tasks::AnyTasks;
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use ictd_core::layer::Layer;
use ictd_core::rng::{Rng, Stream};
use ictd_core::tasks::{Task, TaskDistribution};
use ictd_core::transition::Transition;
use nalgebra::{SMatrix, SVector};
use serde::{Deserialize, Serialize};

const D: usize = 4;
const LENGTH: usize = 64;
/// Windows of a trajectory, and samples of tasks, each with a fixed point of its own.
const WINDOWS: usize = 8;
const SAMPLES: u64 = 8;

/// Why Q's two diagonals are not of one size
///
/// Theorem 1 has -C and C in Q; trained is a smaller C on the right. With Q's diagonals -c and rho c layers iterate
/// w <- w + alpha (1/n) sum (R + rho gamma w^T phi' - w^T phi) phi: batch TD whose discount is rho gamma. The
/// semi-gradient of multi-task TD in (alpha, rho) has a fixed point, E[delta dv/dalpha] = E[delta dv/drho] = 0,
/// found here by Newton's method on sampled tasks; beside it what training finds, of all parameters and of ten
/// numbers a layer, and with values that the features can represent.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Ratio {
    /// How much is trained.
    #[command(flatten)]
    #[serde(flatten)]
    pub scale: Scale,
    /// Tasks in each of 8 samples
    #[arg(long, default_value = "2000", value_parser = options::integer(1..=100_000))]
    pub tasks: usize,
}

/// What is compared at one depth.
struct Setting {
    name: &'static str,
    layers: usize,
    task: &'static str,
    /// The run of all parameters, and that of ten numbers a layer.
    full: &'static str,
    ten: Option<&'static str>,
}

const fn boyan(
    name: &'static str,
    layers: usize,
    full: &'static str,
    ten: &'static str,
) -> Setting {
    Setting { name, layers, task: "boyan", full, ten: Some(ten) }
}

const SETTINGS: [Setting; 4] = [
    boyan("L = 2", 2, "linear-l2", "equivariant-l2"),
    boyan("L = 3", 3, "linear-l3", "equivariant-l3"),
    boyan("L = 4", 4, "linear-l4", "equivariant-l4"),
    Setting {
        name: "L = 3, representable",
        layers: 3,
        task: "boyan-representable",
        full: "representable-l3",
        ten: None,
    },
];

/// One row of `ratios.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RatioRow {
    setting: String,
    /// `all parameters`, `ten numbers` or `fixed point`.
    of: String,
    /// The seed, or the sample's number.
    seed: u64,
    ratio: f64,
}

/// What is found of a setting: medians over seeds, the mean over samples.
#[derive(Serialize)]
struct SettingFound {
    setting: &'static str,
    full: f64,
    ten: Option<f64>,
    fixed_point: f64,
    fixed_point_stderr: f64,
    alpha: f64,
}

/// What is found.
#[derive(Serialize)]
pub struct Found {
    settings: Vec<SettingFound>,
}

impl Experiment for Ratio {
    const ENTRY: Entry = Entry {
        id: "ratio",
        figure: "Beyond the paper: the ratio of Q's diagonals",
        figures,
        run: Run::Scaled(|scale, session| {
            run(&Ratio { scale: scale.clone(), ..options::parsed("") }, session)
        }),
    };

    type Found = Found;

    fn measure(&self, session: &Session, records: &mut Records) -> Measured<Found> {
        let (mut rows, mut found, mut claims, mut trained) = (vec![], vec![], vec![], vec![]);
        for setting in &SETTINGS {
            let Setting { name, layers, task, .. } = setting;
            let line = format!("--layers {layers} --task {task}");
            let train: Train = self.scale.apply(options::parsed(&line));
            let full = ratios(setting.full, &train, session)?;
            let ten = match setting.ten {
                None => None,
                Some(run) => {
                    let line = format!("{line} --parameters equivariant");
                    Some(ratios(run, &self.scale.apply(options::parsed(&line)), session)?)
                }
            };
            let samples: Vec<u64> = (0..SAMPLES).collect();
            let points = session.map(name, &samples, |sample| {
                let mut rng = Rng::stream(session.seed + sample, Stream::Evaluation);
                fixed_point(&train.recipe, self.tasks, &mut rng)
                    .doing(format!("{name}, sample {sample}"))
            })?;
            let found_at = |i: usize| points.iter().map(move |p| p[i]).filter(|x| x.is_finite());
            let rho: Vec<f64> = found_at(1).collect();
            let mut put = |of: &str, ratios: &[f64]| {
                for (seed, ratio) in ratios.iter().enumerate() {
                    let (seed, ratio) = (session.seed + seed as u64, *ratio);
                    rows.push(RatioRow { setting: (*name).into(), of: of.into(), seed, ratio });
                }
            };
            put("all parameters", &full);
            put("ten numbers", ten.as_deref().unwrap_or_default());
            put("fixed point", &rho);
            claims.push(predicts(name, "the fixed point of Theorem 1's two numbers", &full, &rho));
            if let Some(ten) = &ten {
                claims.push(predicts(name, "training ten numbers a layer", &full, ten));
            }
            let (mean, stderr) = mean_and_stderr(rho.iter().copied());
            found.push(SettingFound {
                setting: name,
                full: median(&full),
                ten: ten.as_deref().map(median),
                fixed_point: mean,
                fixed_point_stderr: stderr,
                alpha: mean_and_stderr(found_at(0).collect::<Vec<_>>().into_iter()).0,
            });
            trained.push(full);
        }
        records.put_csv("ratios.csv", &rows)?;
        claims.push(nearer_to_1(&trained[1], &trained[3]));
        Ok((Found { settings: found }, claims))
    }

    fn text(found: &Found) -> String {
        let head = ["", "all parameters", "ten numbers", "fixed point", "its alpha"];
        let row = |f: &SettingFound| {
            [
                f.setting.to_owned(),
                format!("{:.3}", f.full),
                f.ten.map_or(String::new(), |ten| format!("{ten:.3}")),
                format!("{:.3} ± {:.3}", f.fixed_point, f.fixed_point_stderr),
                format!("{:.3}", f.alpha),
            ]
        };
        let rows: Vec<_> = std::iter::once(head.map(str::to_owned))
            .chain(found.settings.iter().map(row))
            .collect();
        format!("{}\n", table(&rows))
    }
}

/// The median of predicted ratios is within a tenth of that of trained seeds; in part within a fifth.
pub fn predicts(setting: &str, what: &str, trained: &[f64], predicted: &[f64]) -> Claim {
    let off = bootstrap([trained, predicted], |[a, b]| median(b) / median(a) - 1.0);
    let within = |share: f64| -share < off.low && off.high < share;
    Claim::new(
        format!("{setting}: {what} predicts the ratio of Q's diagonals"),
        "not in the paper",
        format!(
            "trained {}; predicted {}: off by a share of {off:.2}, needs within 0.1 (in part 0.2) of 0",
            spread(trained),
            spread(predicted)
        ),
        Verdict::graded(within(0.1), within(0.2)),
    )
    .open()
}

/// Values that the features can represent have less than half the distance to 1; in part less.
pub fn nearer_to_1(random: &[f64], representable: &[f64]) -> Claim {
    let far = |ratios: &[f64]| (median(ratios) - 1.0).abs();
    let share = bootstrap([random, representable], |[a, b]| far(b) / far(a));
    Claim::new(
        "values that the features can represent have a ratio nearer to 1",
        "not in the paper",
        format!(
            "{}, and {} with random rewards: a share {share:.2} as far from 1, needs < 0.5 (in part < 1)",
            spread(representable),
            spread(random)
        ),
        Verdict::graded(share.high < 0.5, share.high < 1.0),
    )
    .open()
}

/// The ratio of the sizes of Q's right and left diagonal, of each seed's first layer.
fn ratios(run: &str, train: &Train, session: &Session) -> Result<Vec<f64>, Error> {
    let seeds = learning::trained(run, train, session)?;
    let of = |run: &SeedRun| {
        Layer::<f64, 9>::at_end(run).first().map_or(f64::NAN, |layer| {
            let diagonal = |column: usize| (0..D).map(|i| layer.q[(i, column + i)]).sum::<f64>();
            -diagonal(D) / diagonal(0)
        })
    };
    Ok(seeds.iter().map(of).collect())
}

/// A context and what is asked after it.
pub struct Window {
    /// (1/n) sum phi phi^T and (gamma/n) sum phi phi'^T.
    a: [SMatrix<f64, D, D>; 2],
    /// (1/n) sum R phi.
    b: SVector<f64, D>,
    query: SVector<f64, D>,
}

impl Window {
    fn new(context: &[Transition<f64, D>], gamma: f64, query: SVector<f64, D>) -> Self {
        let mut window = Window { a: [SMatrix::zeros(); 2], b: SVector::zeros(), query };
        let share = 1.0 / context.len() as f64;
        for Transition { phi, reward, phi_next } in context {
            window.a[0] += phi * share * phi.transpose();
            window.a[1] += phi * (gamma * share) * phi_next.transpose();
            window.b += phi * (reward * share);
        }
        window
    }

    /// v after so many steps w <- w + alpha (b - (A_0 - rho A_1) w), with its derivatives by alpha and rho.
    pub fn value(&self, layers: usize, [alpha, rho]: [f64; 2]) -> [f64; 3] {
        let a = self.a[0] - self.a[1] * rho;
        let [mut w, mut by_alpha, mut by_rho] = [SVector::<f64, D>::zeros(); 3];
        for _ in 0..layers {
            let missing = self.b - a * w;
            by_alpha += missing - a * by_alpha * alpha;
            by_rho += (self.a[1] * w - a * by_rho) * alpha;
            w += missing * alpha;
        }
        [w, by_alpha, by_rho].map(|w| w.dot(&self.query))
    }
}

/// A trajectory's windows, and the reward from each query.
pub type Trajectory = (Vec<Window>, Vec<f64>);

/// A task's trajectory, drawn as training draws it.
///
/// # Errors
/// The core's.
pub fn sample(recipe: &Recipe, rng: &mut Rng) -> Result<Trajectory, ictd_core::Error> {
    let task = TaskDistribution::<f32, D>::draw(&AnyTasks::new(recipe), recipe.gamma as f32, rng)?;
    let n = recipe.context;
    let trajectory = task.trajectory::<LENGTH>(n + WINDOWS + 2, rng)?;
    let transitions: Vec<Transition<f64, D>> = trajectory.iter().map(wide).collect();
    let at =
        |t: usize| Window::new(&transitions[t..t + n], recipe.gamma, transitions[t + n + 1].phi);
    let rewards = (0..WINDOWS).map(|t| transitions[t + n + 1].reward).collect();
    Ok(((0..=WINDOWS).map(at).collect(), rewards))
}

/// E[delta dv/dalpha] and E[delta dv/drho].
pub fn update(trajectories: &[Trajectory], recipe: &Recipe, theta: [f64; 2]) -> [f64; 2] {
    let mut sum = [0.0; 2];
    for (windows, rewards) in trajectories {
        let values: Vec<_> =
            windows.iter().map(|window| window.value(recipe.layers, theta)).collect();
        for (pair, reward) in values.windows(2).zip(rewards) {
            let delta = reward + recipe.gamma * pair[1][0] - pair[0][0];
            sum[0] += delta * pair[0][1];
            sum[1] += delta * pair[0][2];
        }
    }
    sum.map(|sum| sum / (trajectories.len() * WINDOWS) as f64)
}

/// (alpha, rho) at which the expected update is 0, by Newton's method with halved steps; NaN where it finds none.
///
/// # Errors
/// The core's.
pub fn fixed_point(
    recipe: &Recipe,
    tasks: usize,
    rng: &mut Rng,
) -> Result<[f64; 2], ictd_core::Error> {
    let trajectories: Result<Vec<_>, _> = (0..tasks).map(|_| sample(recipe, rng)).collect();
    let trajectories = trajectories?;
    let size = |f: [f64; 2]| f[0] * f[0] + f[1] * f[1];
    let mut theta = [1.5, 0.8];
    let mut f = update(&trajectories, recipe, theta);
    for _ in 0..50 {
        const H: f64 = 1e-5;
        let column = |i: usize| {
            let at = |h: f64| {
                let mut moved = theta;
                moved[i] += h;
                update(&trajectories, recipe, moved)
            };
            let [up, down] = [at(H), at(-H)];
            [0, 1].map(|j| (up[j] - down[j]) / (2.0 * H))
        };
        let [c0, c1] = [column(0), column(1)];
        let determinant = c0[0] * c1[1] - c1[0] * c0[1];
        let step = [
            (f[1] * c1[0] - f[0] * c1[1]) / determinant,
            (f[0] * c0[1] - f[1] * c0[0]) / determinant,
        ];
        let mut length = 1.0;
        let better = loop {
            let next = [theta[0] + length * step[0], theta[1] + length * step[1]];
            let f_next = update(&trajectories, recipe, next);
            if size(f_next) < size(f) {
                break Some((next, f_next));
            }
            length *= 0.5;
            if length < 1e-6 {
                break None;
            }
        };
        let Some(next) = better else { break };
        (theta, f) = next;
    }
    Ok(if size(f) < 1e-20 { theta } else { [f64::NAN; 2] })
}

fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let rows: Vec<RatioRow> = records.csv("ratios.csv")?;
    let panel = |setting: &Setting| {
        let curve = |(colour, of): (usize, &str)| {
            let of_row = |r: &&RatioRow| r.setting == setting.name && r.of == of;
            let mut y: Vec<f64> =
                rows.iter().filter(of_row).map(|r| r.ratio.clamp(-0.5, 2.0)).collect();
            y.sort_by(f64::total_cmp);
            let last = y.len().saturating_sub(1).max(1) as f64;
            let x = (0..y.len()).map(|i| i as f64 / last).collect();
            let dashed = of == "fixed point";
            Curve { dashed, colour: Some(colour), ..Curve::plain(of, x, y) }
        };
        let names = ["all parameters", "ten numbers", "fixed point"].into_iter().enumerate();
        let names =
            names.filter(|(_, of)| rows.iter().any(|r| r.setting == setting.name && r.of == *of));
        Panel::Curves(Curves {
            title: setting.name.into(),
            x: Axis::linear("share of the seeds, or samples, each curve in its own order"),
            y: Axis::fixed("ratio of Q's diagonals", -0.5, 2.0),
            curves: names.map(curve).collect(),
            ..Default::default()
        })
    };
    let figure = Figure {
        title: "The ratio of Q's diagonals is a discount".into(),
        subtitle: "trained, of all parameters and of ten numbers a layer; dashed: the fixed point of Theorem 1's two \
                   numbers on 8 samples of tasks"
            .into(),
        panels: SETTINGS.iter().map(panel).collect(),
        columns: 2,
    };
    Ok(vec![("ratio".into(), figure)])
}
