//! What the paper claims of training runs, judged over seeds: never by a single one.
//!
//! A claim about seeds is judged by the 95 % interval (bootstrap over the seeds) of the share of them of which
//! it is true; a claim about a change, or a difference, by the interval of its mean or median,
//! seed by seed. Every threshold stands in what is reported beside the number that decided.

use super::fresh::{FreshPoint, JudgedRun};
use super::function::{self, CANDIDATES, EXPLAINED};
use super::statistics::{
    Interval, bootstrap, mean_and_stderr, mean_interval, median, median_interval, nan_or_larger,
    quartiles, spread,
};
use crate::run::report::{Claim, Verdict, number};
use crate::train::log::{IWS, MSVE, Matrices, Metric, Point, SeedRun};
use ictd_core::metrics::{BlockForm, Blocks, FORM_SHARE, LayerBlocks};

/// What was measured, and the verdict.
pub type Judgement = (String, Verdict);

/// A claim of the paper about a T (a run, or all runs of an experiment) with the way it is judged.
pub struct JudgedClaim<T: ?Sized = JudgedRun> {
    claim: &'static str,
    paper: &'static str,
    expected: Verdict,
    judge: fn(&T) -> Judgement,
}

/// A claim in a few words, and the paper's words.
pub const fn claim<T: ?Sized>(
    claim: &'static str,
    paper: &'static str,
    judge: fn(&T) -> Judgement,
) -> JudgedClaim<T> {
    JudgedClaim { claim, paper, expected: Verdict::Holds, judge }
}

impl<T: ?Sized> JudgedClaim<T> {
    /// One that is known not to hold.
    pub const fn refuted(self) -> Self {
        JudgedClaim { expected: Verdict::DoesNotHold, ..self }
    }

    /// Judges what is claimed of a subject, if it is named.
    pub fn judge(&self, subject: &str, of: &T) -> Claim {
        let (measured, verdict) = (self.judge)(of);
        let of = if subject.is_empty() { "" } else { ": " };
        let claim = format!("{subject}{of}{}", self.claim);
        Claim { expected: self.expected, ..Claim::new(claim, self.paper, measured, verdict) }
    }
}

/// Fewer seeds than this show nothing about all.
const ENOUGH: usize = 10;
/// The share of seeds that the interval must be above: for a claim to hold, and to hold in part.
const MOST: f64 = 0.75;
const HALF: f64 = 0.5;

/// The verdict for a claim about every seed, from those of which it is true: it holds if the 95 % interval of
/// their share is above three quarters (and there are at least 10), in part if it is above one half.
pub fn share_of_seeds(holding: impl IntoIterator<Item = bool>) -> (String, Verdict) {
    let holding: Vec<f64> = holding.into_iter().map(f64::from).collect();
    let share = mean_interval(&holding);
    let (count, seeds) = (holding.iter().sum::<f64>(), holding.len());
    let verdict = Verdict::graded(share.low > MOST && seeds >= ENOUGH, share.low > HALF);
    (format!("{count} of {seeds} seeds: share {share:.2}"), verdict)
}

/// [`share_of_seeds`], with what it needs.
pub fn of_seeds(holding: impl IntoIterator<Item = bool>) -> Judgement {
    let holding: Vec<bool> = holding.into_iter().collect();
    let few = if holding.len() < ENOUGH { "; too few to hold for all" } else { "" };
    let (share, verdict) = share_of_seeds(holding);
    (format!("{share}, needs > {MOST} (in part > {HALF}){few}"), verdict)
}

/// Each seed's P and Q of a stored layer after training, by blocks; none of a seed without.
pub fn blocks(runs: &[SeedRun], l: usize) -> impl Iterator<Item = Option<LayerBlocks>> {
    runs.iter().map(move |run| {
        let k = run.token_size;
        let Matrices { p, q, .. } = run.last()?.layers.get(l)?;
        let of = |m: &[f32]| Blocks::of(k.saturating_sub(1) / 2, k, |i, j| m[i * k + j].into());
        Some(LayerBlocks::new(of(p), of(q)))
    })
}

/// The shares of P's and of Q's energy in layer l that are a form's: NaN of a seed without.
pub fn shares(runs: &[SeedRun], l: usize, form: BlockForm) -> Vec<[f64; 2]> {
    blocks(runs, l).map(|b| b.map_or([f64::NAN; 2], |b| b.shares(form))).collect()
}

fn column(rows: &[[f64; 2]], at: usize) -> Vec<f64> {
    rows.iter().map(|row| row[at]).collect()
}

/// P of a layer is the construction's: one entry has its energy.
pub fn p_has_form(runs: &[SeedRun], l: usize) -> Judgement {
    let shares = column(&shares(runs, l, BlockForm::Td), 0);
    let (seeds, verdict) = of_seeds(shares.iter().map(|share| *share >= FORM_SHARE));
    let corners = mean_blocks(runs, l, |b| b.p);
    let measured = format!(
        "P[-1,-1] has {} of P's energy, needs >= {FORM_SHARE} in {seeds}; diagonals of P's blocks / \
         P[-1,-1]: {corners}",
        spread(&shares)
    );
    (measured, verdict)
}

/// Q of a layer has not a form.
pub fn q_lacks_form(runs: &[SeedRun], l: usize, form: BlockForm) -> Judgement {
    let own = column(&shares(runs, l, form), 1);
    let (seeds, verdict) = of_seeds(own.iter().map(|share| *share < FORM_SHARE));
    (
        format!("{} of Q's energy is the form's, needs < {FORM_SHARE} in {seeds}", spread(&own)),
        verdict,
    )
}

/// No parameter of any seed becomes infinite or NaN.
pub fn stays_finite(runs: &[SeedRun]) -> Judgement {
    let mut ends: Vec<u64> = runs.iter().filter_map(SeedRun::diverged).collect();
    ends.sort_unstable();
    let (mut measured, verdict) = of_seeds(runs.iter().map(|run| run.diverged().is_none()));
    if let [first, .., last] = ends.as_slice() {
        measured.push_str(&format!(
            "; the first diverges within {first} tasks, the last within {last}"
        ));
    }
    (format!("finite in {measured}"), verdict)
}

/// The blocks' mean diagonals relative to what is largest in the construction, in medians over seeds.
fn mean_blocks(runs: &[SeedRun], l: usize, of: fn(&LayerBlocks) -> Blocks) -> String {
    let all: Vec<Blocks> = blocks(runs, l).flatten().map(|b| of(&b)).collect();
    let relative = |i: usize, j: usize| {
        let ratio = |b: &Blocks| b.means.blocks[i][j] / b.means.corner[0][0];
        format!("{:.2}", median(&all.iter().map(ratio).collect::<Vec<_>>()))
    };
    [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(i, j)| relative(i, j)).join(", ")
}

/// Q of a layer has a form, up to a positive scale.
pub fn q_has_form(runs: &[SeedRun], l: usize, form: BlockForm) -> Judgement {
    let own = column(&shares(runs, l, form), 1);
    let (seeds, verdict) = of_seeds(own.iter().map(|share| *share >= FORM_SHARE));
    let others = [
        (BlockForm::Td, "Theorem 1's"),
        (BlockForm::OneLayerTd, "the corollary's"),
        (BlockForm::ResidualGradient, "the residual gradient's"),
    ];
    let others = others
        .into_iter()
        .filter(|other| other.0 != form)
        .map(|(other, name)| format!("{name} {:.2}", median(&column(&shares(runs, l, other), 1))));
    let measured = format!(
        "{} of Q's energy is the form's, needs >= {FORM_SHARE} in {seeds}; {}",
        spread(&own),
        others.collect::<Vec<_>>().join(", ")
    );
    (measured, verdict)
}

/// The energy of Q's upper-right diagonal relative to its upper-left one, as a ratio of sizes, per seed.
fn right_over_left(runs: &[SeedRun], l: usize) -> Vec<f64> {
    let ratio = |b: LayerBlocks| b.q.means.blocks[0][1] / b.q.means.blocks[0][0];
    blocks(runs, l).map(|b| b.map_or(f64::NAN, ratio)).collect()
}

/// Theorem 1 has -C^T and C^T in Q: its two diagonals should have the same size, and opposite signs.
pub fn is_balanced(runs: &[SeedRun]) -> Judgement {
    let ratios: Vec<f64> = right_over_left(runs, 0).into_iter().map(|x| -x).collect();
    let median = median_interval(&ratios);
    let within = |low: f64, high: f64| low < median.low && median.high < high;
    let measured = format!(
        "right / left, median {median:.2}; needs 0.9 to 1.1 (in part 0.67 to 1.5); quartiles {}",
        spread(&ratios)
    );
    (measured, Verdict::graded(within(0.9, 1.1), within(0.67, 1.5)))
}

/// The deeper the layer, of three, the fainter Q's right diagonal, relative to the left one.
pub fn fades_with_depth(runs: &[SeedRun]) -> Judgement {
    let strengths =
        [0, 1, 2].map(|l| right_over_left(runs, l).into_iter().map(f64::abs).collect::<Vec<_>>());
    let fall = |a: usize, b: usize| {
        let differences = strengths[a].iter().zip(&strengths[b]).map(|(a, b)| a - b);
        median_interval(&differences.collect::<Vec<_>>())
    };
    let [first, second, both] = [fall(0, 1), fall(1, 2), fall(0, 2)];
    let measured = format!(
        "relative to the left one: {}; falls by {first:.2} and {second:.2}, needs both > 0 (in part: {both:.2} \
         in all)",
        strengths.each_ref().map(|s| spread(s)).join(", ")
    );
    (measured, Verdict::graded(first.low > 0.0 && second.low > 0.0, both.low > 0.0))
}

/// P has the construction's form in every layer.
pub fn p_has_form_in_every_layer(runs: &[SeedRun]) -> Judgement {
    let layers = runs.first().and_then(SeedRun::last).map_or(0, |point| point.layers.len());
    let of_layers: Vec<Vec<f64>> =
        (0..layers).map(|l| column(&shares(runs, l, BlockForm::Td), 0)).collect();
    let all = |seed| of_layers.iter().all(|layer: &Vec<f64>| layer[seed] >= FORM_SHARE);
    let (seeds, verdict) = of_seeds((0..runs.len()).map(all));
    let texts: Vec<_> = of_layers.iter().map(|layer| spread(layer)).collect();
    let measured = format!(
        "P[-1,-1] has {} of P's energy, layer by layer; needs >= {FORM_SHARE} in all, in {seeds}",
        texts.join(", ")
    );
    (measured, verdict)
}

/// P of the last layer follows the construction more closely than P of each layer before it.
pub fn p_is_closest_in_the_last_layer(runs: &[SeedRun]) -> Judgement {
    let layers = runs.first().and_then(SeedRun::last).map_or(0, |point| point.layers.len());
    let of = |l: usize| column(&shares(runs, l, BlockForm::Td), 0);
    let last = of(layers.saturating_sub(1));
    let gain = |l: usize| {
        let gains = last.iter().zip(of(l)).map(|(last, other)| last - other);
        median_interval(&gains.collect::<Vec<_>>())
    };
    let gains: Vec<Interval> = (0..layers.saturating_sub(1)).map(gain).collect();
    let texts: Vec<_> = gains.iter().map(|gain| format!("{gain:.2}")).collect();
    let measured = format!(
        "P[-1,-1]'s share of P's energy, last layer {}; more than in the layers before by {}, needs all > 0",
        spread(&last),
        texts.join(", ")
    );
    (measured, Verdict::of(!gains.is_empty() && gains.iter().all(|gain| gain.low > 0.0)))
}

/// The share of P (x) Q, of which a layer is a function, that is Theorem 1's with C = I up to a scale.
fn alignment(run: &JudgedRun) -> Vec<f64> {
    let product = |[p, q]: [f64; 2]| p * q;
    shares(&run.seeds, 0, BlockForm::Td).into_iter().map(product).collect()
}

/// The more layers share P and Q, the more these are aligned with Theorem 1's with C = I. One layer has no use
/// for half of Q, so that those of 2 to 4 are compared.
pub fn aligns_as_layers_grow(runs: &[JudgedRun]) -> Judgement {
    let of = |name: &str| runs.iter().find(|run| run.name == name).map_or(Vec::new(), alignment);
    let [one, two, three, four] = ["linear-l1", "linear-l2", "linear-l3", "linear-l4"].map(of);
    let more = |a: &[f64], b: &[f64]| bootstrap([a, b], |[a, b]| median(b) - median(a));
    let [first, second, both] = [more(&two, &three), more(&three, &four), more(&two, &four)];
    let measured = format!(
        "share of P (x) Q along it, L = 2 to 4: {}, {}, {}; more by {first:.2} and {second:.2}, needs both > 0 \
         (in part: {both:.2} in all); L = 1: {}",
        spread(&two),
        spread(&three),
        spread(&four),
        spread(&one)
    );
    (measured, Verdict::graded(first.low > 0.0 && second.low > 0.0, both.low > 0.0))
}

/// The number of tasks from which on a seed's learning rate stays within a tenth of where it ends.
pub fn settled_after(run: &SeedRun, end: f64) -> f64 {
    let stays = |p: &Point| (p.alpha - end).abs() <= 0.1 * end.abs();
    run.points.iter().rev().find(|p| !stays(p)).map_or(0.0, |p| p.tasks as f64)
}

/// The learning rate of the batch-TD reference converges quickly: within the first quarter of the training it
/// is within a tenth of where it ends, and stays there.
pub fn alpha_converges_quickly(run: &JudgedRun) -> Judgement {
    let after: Vec<f64> =
        run.seeds.iter().zip(&run.fresh).map(|(seed, f)| settled_after(seed, f.alpha)).collect();
    let quarter = run.recipe.mrps as f64 / 4.0;
    let (seeds, verdict) = of_seeds(after.iter().map(|tasks| *tasks <= quarter));
    let ends: Vec<f64> = run.fresh.iter().map(|f| f.alpha).collect();
    let [lower, middle, upper] = quartiles(after);
    let measured = format!(
        "ends at {}, stays within a tenth of it after {middle:.0} tasks ({lower:.0} to {upper:.0}), needs <= \
         {quarter:.0} in {seeds}",
        spread(&ends)
    );
    (measured, verdict)
}

/// The first and the last of a number of the log on fresh tasks, per seed.
fn ends(run: &JudgedRun, of: fn(&FreshPoint) -> f64) -> [Vec<f64>; 2] {
    let at = |point: Option<&FreshPoint>| point.map_or(f64::NAN, of);
    [
        run.fresh.iter().map(|f| at(f.log.first())).collect(),
        run.fresh.iter().map(|f| at(f.log.last())).collect(),
    ]
}

/// The implicit weights end near batch TD's with the converged learning rate: their cosine is above 0.95.
pub fn iws_ends_near_one(run: &JudgedRun) -> Judgement {
    const NEAR: f64 = 0.95;
    let [_, last] = ends(run, |p| p.iws);
    let (seeds, verdict) = of_seeds(last.iter().map(|x| *x > NEAR));
    let one_step: Vec<f64> = run.fresh.iter().map(|f| f.one_step).collect();
    let running: Vec<f64> = run.seeds.iter().map(|seed| settled(seed, &IWS)).collect();
    let measured = format!(
        "{} on fresh tasks, needs > {NEAR} in {seeds}; with the running alpha {}; a single step of batch TD has {}",
        spread(&last),
        spread(&running),
        spread(&one_step)
    );
    (measured, verdict)
}

/// The value difference, with the converged learning rate, ends below a part of what it was at the first log
/// point, and of the mean square of v_TD.
pub fn vd_falls_below(run: &JudgedRun, part: f64) -> Judgement {
    let [first, last] = ends(run, |p| p.vd);
    let fallen = run.fresh.iter().zip(first.iter().zip(&last));
    let fallen =
        fallen.map(|(f, (first, last))| *last < part * first && *last < part * f.td_energy);
    let (seeds, verdict) = of_seeds(fallen.collect::<Vec<_>>());
    let energies: Vec<f64> = run.fresh.iter().map(|f| f.td_energy).collect();
    let measured = format!(
        "from {} to {}, mean v_TD^2 {}; needs < {part} of both in {seeds}",
        spread(&first),
        spread(&last),
        spread(&energies)
    );
    (measured, verdict)
}

/// The value difference is small where the training ends: below a tenth of the mean square of v_TD. (It begins at
/// about all of it, as v_TF begins near 0.)
pub fn vd_ends_small(run: &JudgedRun) -> Judgement {
    const SMALL: f64 = 0.1;
    let [first, last] = ends(run, |p| p.vd);
    let relative = |vd: Vec<f64>| -> Vec<f64> {
        vd.iter().zip(&run.fresh).map(|(vd, f)| vd / f.td_energy).collect()
    };
    let [first, last] = [first, last].map(relative);
    let (seeds, verdict) = of_seeds(last.iter().map(|x| *x < SMALL));
    let measured = format!(
        "relative to mean v_TD^2 from {} to {}; needs < {SMALL} at the end in {seeds}",
        spread(&first),
        spread(&last)
    );
    (measured, verdict)
}

/// Batch TD(0) is what the trained function is: of the classical algorithms, each with step sizes fitted on other
/// tasks, it explains most of v_TF, and at least nine tenths.
pub fn function_is_td0(run: &JudgedRun) -> Judgement {
    let (seeds, verdict) = of_seeds(run.fresh.iter().map(|f| function::is(&f.explained, 0)));
    (format!("{}; needs TD(0) best and >= {EXPLAINED} in {seeds}", explained(run)), verdict)
}

/// Batch TD(0) is not what the trained function is: it explains less than nine tenths of v_TF.
pub fn function_is_not_td0(run: &JudgedRun) -> Judgement {
    let (seeds, verdict) = of_seeds(run.fresh.iter().map(|f| f.explained[0] < EXPLAINED));
    (format!("{}; needs TD(0) < {EXPLAINED} in {seeds}", explained(run)), verdict)
}

fn explained(run: &JudgedRun) -> String {
    let of = |at: usize| run.fresh.iter().map(move |f| f.explained[at]).collect::<Vec<f64>>();
    let texts: Vec<_> = CANDIDATES
        .iter()
        .enumerate()
        .map(|(at, candidate)| format!("{} {}", candidate.name, spread(&of(at))))
        .collect();
    format!("share of v_TF explained on fresh tasks: {}", texts.join(", "))
}

/// A metric averaged over the i-th tenth of a seed's log, since one fresh context says little.
fn tenth(run: &SeedRun, i: usize, metric: &Metric<Point>) -> f64 {
    let len = run.points.len().div_ceil(10);
    mean_and_stderr(run.points.iter().skip(i * len).take(len).map(metric.of)).0
}

/// The last tenth.
fn settled(run: &SeedRun, metric: &Metric<Point>) -> f64 {
    let len = run.points.len().div_ceil(10);
    mean_and_stderr(run.points.iter().rev().take(len).map(metric.of)).0
}

/// A metric from one tenth of each seed's log to the last: means, and the interval of the mean change.
fn change(runs: &[SeedRun], from: usize, metric: &Metric<Point>) -> (String, Interval) {
    let starts: Vec<f64> = runs.iter().map(|run| tenth(run, from, metric)).collect();
    let ends: Vec<f64> = runs.iter().map(|run| settled(run, metric)).collect();
    let changes: Vec<f64> = ends.iter().zip(&starts).map(|(end, start)| end - start).collect();
    let change = mean_interval(&changes);
    let [start, end] = [starts, ends].map(|x| mean_and_stderr(x.into_iter()).0);
    let measured =
        format!("tenth {} {start:.3}, last tenth {end:.3}, change {change:.3}", from + 1);
    (measured, change)
}

/// A metric increases from the first to the last tenth of the log.
pub fn rises(runs: &[SeedRun], metric: &Metric<Point>) -> Judgement {
    let (measured, change) = change(runs, 0, metric);
    (format!("{measured}, needs > 0"), Verdict::of(change.low > 0.0))
}

/// A metric, once up from its initial value, drops: from its highest tenth of the log. Which tenth that is, is
/// taken from the other half of the seeds, since the highest of ten noisy means is high by chance.
pub fn drops(runs: &[SeedRun], metric: &Metric<Point>) -> Judgement {
    let (choosing, judged) = runs.split_at(runs.len() / 2);
    let mean = |i: &usize| {
        let of = choosing.iter().map(|run| tenth(run, *i, metric));
        mean_and_stderr(of.filter(|x| x.is_finite())).0
    };
    let highest =
        (0..10).filter(|i| mean(i).is_finite()).max_by(|a, b| mean(a).total_cmp(&mean(b)));
    let (measured, change) = change(judged, highest.unwrap_or(0), metric);
    let measured =
        format!("highest (in half of the seeds) in {measured} in the other half, needs < 0");
    (measured, Verdict::of(change.high < 0.0))
}

/// The value error falls, from the first tenth.
pub fn error_falls(runs: &[SeedRun]) -> Judgement {
    let starts = runs.iter().map(|r| r.points.first().map_or(f64::NAN, |p| p.msve));
    let (start, start_error) = mean_and_stderr(starts);
    let (measured, change) = change(runs, 0, &MSVE);
    let measured = format!("at first {start:.3} ± {start_error:.3}, {measured}, needs < 0");
    (measured, Verdict::of(change.high < 0.0))
}

/// The value function is not linear in the query: the best linear function, by least squares, leaves more than
/// rounding over of literal forward values at random features.
pub fn is_not_linear(runs: &[JudgedRun]) -> Judgement {
    const ROUNDING: f64 = 1e-20;
    let left: Vec<f64> = runs
        .iter()
        .flat_map(|run| &run.fresh)
        .map(|f| f.nonlinear)
        .filter(|x| x.is_finite())
        .collect();
    let largest = left.iter().copied().fold(0.0, nan_or_larger);
    let measured = format!(
        "least squares on literal forward values leaves {} of |v|^2 in the median over {} seeds, {} at most; needs \
         > {ROUNDING:.0e}",
        number(median(&left), 3),
        left.len(),
        number(largest, 3)
    );
    (measured, Verdict::of(median(&left) > ROUNDING))
}
