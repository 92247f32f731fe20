//! Questions that the paper leaves open, as data: which algorithms emerge, what frees seeds that stay stuck, and what
//! trained layers have beside the numbers of Theorem 2.

use super::experiment::Entry;
use super::judging::{JudgedClaim, Judgement, Needs, claim, differences, of_seeds, share_of_seeds};
use super::long::{Long, OfRun};
use super::paper::{D_8, EXPLAINED, table};
use super::plots::Shown::{ByDepth, Plots};
use super::plots::{Plot, Seeds, Series, series};
use super::statistics::{mean_interval, median_interval, nan_or_larger, spread};
use super::table::{Asks, Table, TrainingRun, Work, run};
use crate::error::{Doing, Error};
use crate::run::report::{Source, Verdict};
use compute::invariant::theorem_2;
use figures::Axis;
use ictd_core::metrics::FORM_SHARE;

/// The algorithms that emerge under the masks and losses of the paper's other constructions.
pub const EMERGENCE: Entry = table(
    "emergence",
    "Beyond the paper: which algorithms emerge",
    Table {
        about: "The paper leaves open whether TD(lambda) and the residual gradient emerge as TD(0) does. Here are \
                trained, with L = 1 to 4: TD(lambda)'s mask, TD(0)'s mask by the residual gradient, and TD(0) itself. Each seed is judged by its function on \
                fresh tasks (which algorithm, with L step sizes fitted on half of them, explains how much of |v|^2 on \
                the others), by the form of its parameters, and by what projecting them on ten numbers a layer \
                loses.",
        runs: &[
            of_family("linear-l1", "--layers 1"),
            member("linear-l2", "--layers 2"),
            member("linear-l3", "--layers 3"),
            member("linear-l4", "--layers 4"),
            of_family("lambda-0.3-l1", "--lambda 0.3 --layers 1"),
            member("lambda-0.3-l2", "--lambda 0.3 --layers 2"),
            member("lambda-0.3-l3", "--lambda 0.3 --layers 3"),
            member("lambda-0.3-l4", "--lambda 0.3 --layers 4"),
            of_family("lambda-0.6-l1", "--lambda 0.6 --layers 1"),
            member("lambda-0.6-l2", "--lambda 0.6 --layers 2"),
            member("lambda-0.6-l3", "--lambda 0.6 --layers 3"),
            member("lambda-0.6-l4", "--lambda 0.6 --layers 4"),
            of_family("lambda-0.9-l1", "--lambda 0.9 --layers 1"),
            member("lambda-0.9-l2", "--lambda 0.9 --layers 2"),
            member("lambda-0.9-l3", "--lambda 0.9 --layers 3"),
            member("lambda-0.9-l4", "--lambda 0.9 --layers 4"),
            of_family("residual-gradient-l1", "--loss residual-gradient --layers 1"),
            member("residual-gradient-l2", "--loss residual-gradient --layers 2"),
            member("residual-gradient-l3", "--loss residual-gradient --layers 3"),
            member("residual-gradient-l4", "--loss residual-gradient --layers 4"),
        ],
        asks: Asks { candidates: usize::MAX, lost: 400, ..Asks::NOTHING },
        columns: &[
            ("explained, if no other explains more", "expected"),
            ("form", "form"),
            ("outside", "outside"),
            ("lost", "lost"),
        ],
        figures: &[ByDepth(
            "emergence",
            "Which algorithms emerge",
            "share of |v|² on fresh tasks that each algorithm explains with L fitted step sizes; median over \
             seeds with quartiles",
            &["linear", "lambda-0.3", "lambda-0.6", "lambda-0.9", "residual-gradient"],
        )],
        ..Table::EMPTY
    },
);

/// Returns the first run of a family, which has the claims; those of more layers are beside it.
const fn of_family(name: &'static str, options: &'static str) -> TrainingRun {
    run(name, options, name, &[FUNCTION_EMERGES, FORM_EMERGES, SET_HAS_FUNCTION])
}

const fn member(name: &'static str, options: &'static str) -> TrainingRun {
    run(name, options, name, &[])
}

const FUNCTION_EMERGES: JudgedClaim =
    claim("to -l4: the algorithm that is asked for emerges as the function", Source::OWN, |of| {
        at_every_depth(of, "expected", Needs::AtLeast(EXPLAINED))
    })
    .refuted();
const FORM_EMERGES: JudgedClaim = claim("to -l4: P and Q take its form", Source::OWN, |of| {
    at_every_depth(of, "form", Needs::AtLeast(FORM_SHARE))
})
.refuted();
const SET_HAS_FUNCTION: JudgedClaim =
    claim("to -l4: ten numbers a layer have the function", Source::OWN, |of| {
        at_every_depth(of, "lost", Needs::Below(0.05))
    })
    .refuted();

/// Judges a claim about most seeds at every depth of a family: it holds if it does at all depths, and in part if it
/// does, or does in part, at some.
fn at_every_depth(of: OfRun, metric: &str, needs: Needs) -> Judgement {
    let judge = |depth: usize| {
        let name = of.name().replace("-l1", &format!("-l{depth}"));
        let values = of.named(&name, metric);
        let (seeds, verdict) = share_of_seeds(values.iter().map(|x| needs.met(x)));
        (format!("L = {depth}: {} in {seeds}", spread(&values)), verdict)
    };
    let (texts, verdicts): (Vec<_>, Vec<_>) = [1, 2, 3, 4].map(judge).into_iter().unzip();
    let holds = verdicts.iter().all(|verdict| *verdict == Verdict::Holds);
    let in_part = verdicts.iter().any(|verdict| *verdict != Verdict::DoesNotHold);
    let measured = format!(
        "needs {needs} in a share > 0.75 (in part > 0.5) of the seeds; {}",
        texts.join("; ")
    );
    (measured, Verdict::graded(holds, in_part))
}

/// Changes of the training that may free seeds that stay stuck.
pub const STUCK: Entry = table(
    "stuck",
    "Beyond the paper: what frees seeds that stay stuck",
    Table {
        about: "Of the seeds of Figure 2 a few never become TD: Theorem 1's form has less than nine tenths of their \
                Q's energy. Changes of the training, from the same seeds, say what frees them.",
        runs: &[
            run(FIRST, "", "", &[]),
            run("stuck-longer", "--log-every 30", "three times as many tasks", FREES).longer(3),
            run("stuck-gain", "--gain 1", "initial parameters ten times larger", FREES),
            run("stuck-lr", "--lr 0.003", "a learning rate of 0.003", FREES),
            run("stuck-warm-up", "--warm-up 2000", "a warm-up of 2000 of 20,000 steps", FREES),
            run("stuck-batch", "--batch-size 256", "batches of 256 windows", FREES),
            run("equivariant-l3", "--parameters equivariant", "ten numbers a layer", FREES),
        ],
        asks: Asks { candidates: 1, ..Asks::NOTHING },
        columns: &[
            ("share of Q's energy in Theorem 1's form", "q_form_0"),
            ("right / left in Q", "q_ratio_0"),
            ("TD(0) explains", "explained by TD(0)"),
        ],
        figures: &[Plots(
            "stuck",
            "What frees seeds that stay stuck",
            "Theorem 1's form of Q at the end, L = 3",
            &[Plot::sorted(
                "",
                || Axis::fixed("share of Q's energy", 0.0, 1.05),
                &[
                    form("as in Figure 2", FIRST),
                    form("three times as many tasks", "stuck-longer"),
                    form("larger initial parameters", "stuck-gain"),
                    form("a learning rate of 0.003", "stuck-lr"),
                    form("a warm-up", "stuck-warm-up"),
                    form("larger batches", "stuck-batch"),
                    form("ten numbers a layer", "equivariant-l3"),
                ],
            )],
            1,
        )],
        ..Table::EMPTY
    },
);

const FIRST: &str = "linear-l3";

const fn form(label: &'static str, run: &'static str) -> Series {
    series(label, run, "q_form_0", Seeds::Sorted)
}

/// Returns which seeds of a run are TD: Q has Theorem 1's form.
fn is_td(of: OfRun) -> Vec<bool> {
    of.values("q_form_0").into_iter().map(|share| share >= FORM_SHARE).collect()
}

/// A change frees the stuck seeds if more are TD than were, seed by seed, and then most are; in part if more are.
const FREES: &[JudgedClaim] = &[claim("frees the stuck seeds", Source::OWN, |of| {
    let (before, after) = (is_td(of.beside(FIRST)), is_td(of));
    let count = |was: bool, is: bool| {
        before.iter().zip(&after).filter(|(a, b)| (**a, **b) == (was, is)).count()
    };
    let numbers = |td: &[bool]| td.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
    let more = mean_interval(&differences(&numbers(&before), &numbers(&after)));
    let (freed, lost) = (count(false, true), count(true, false));
    let stuck = freed + count(false, false);
    let (seeds, most) = of_seeds(after.iter().copied());
    let measured = format!(
        "Q has Theorem 1's form in {freed} of {stuck} stuck seeds, and not in {lost} of {} others: a share of \
         {more:.2} more, needs > 0, and the form in {seeds}",
        after.len() - stuck
    );
    (measured, Verdict::graded(more.low > 0.0 && most == Verdict::Holds, more.low > 0.0))
})
.beside(&["explained by TD(0)"])
.refuted()];

/// What trained parameters have beside ten numbers a layer.
pub const INVARIANT_SET: Entry = table(
    "invariant-set",
    "Beyond the paper: the invariant set of any depth",
    Table {
        about: "Trained parameters (the linear transformers of the paper's experiments): how much of P and Q is \
                outside of ten numbers a layer, the set for any depth, and what share of |v|^2 is lost, on 100 fresh \
                contexts, when P and Q are projected on it, and when Theorem 1's three numbers are kept, with step sizes fitted again.",
        runs: &[
            kept("linear-l1", "--layers 1"),
            kept("linear-l2", "--layers 2"),
            kept("linear-l3", ""),
            kept("linear-l4", "--layers 4"),
            kept("linear-l3-d8", D_8),
            kept("sequential-l2", "--mode sequential --layers 2"),
            kept("sequential-l3", "--mode sequential --layers 3"),
            kept("sequential-l4", "--mode sequential --layers 4"),
            kept("cart-pole", "--task cartpole --context 250 --mrps 10000"),
        ],
        asks: Asks { candidates: 1, lost: 100, ..Asks::NOTHING },
        columns: &[
            ("outside: P", "outside_p"),
            ("Q", "outside_q"),
            ("lost: ten numbers", "lost"),
            ("Theorem 1's three", "lost_theorem_1"),
            ("TD(0) explains", "explained by TD(0)"),
            ("random layers", "lost_random"),
        ],
        ..Table::EMPTY
    },
);

/// The place of Theorem 2's updates in the record.
pub const DEPARTURES: &str = "theorem 2";

const fn kept(name: &'static str, options: &'static str) -> TrainingRun {
    run(name, options, name, &[LOSES_LITTLE])
}

/// Puts how far updates lead away from Theorem 2's set into the record.
pub(super) fn put_departures(work: &Work, long: &mut Long) -> Result<(), Error> {
    let starts = work.starts(usize::MAX);
    let found = work.session.map(DEPARTURES, &starts, |seed| {
        theorem_2(*seed, 40).doing(format!("{DEPARTURES}, seed {seed}"))
    })?;
    for (seed, numbers) in starts.iter().zip(found) {
        long.extend(DEPARTURES, *seed, numbers);
    }
    Ok(())
}

/// Expected updates, averaged over the symmetries of the features, stay.
pub const STAYS: JudgedClaim = claim(
    "expected updates stay in Theorem 2's invariant set",
    Source::paper("Section 5", "it can never leave"),
    |of| {
        let of = of.beside(DEPARTURES);
        let all = of.places("averaged").into_iter().flat_map(|at| of.values_at("averaged", at));
        let largest = all.fold(0.0, nan_or_larger);
        let elsewhere = of.values("elsewhere").into_iter().fold(f64::INFINITY, f64::min);
        let measured = format!(
            "largest departure {largest:.1e}, needs < 1e-12 (from elsewhere it ends at {elsewhere:.1e} at least)"
        );
        (measured, Verdict::of(largest < 1e-12))
    },
);

/// Those of a single trajectory leave.
pub(super) const NEEDS_SYMMETRY: JudgedClaim =
    claim("the symmetry of the features is needed for it", Source::OWN, |of| {
        let single = of.named(DEPARTURES, "single");
        let moved = single.iter().all(|departure| *departure > 1e-6);
        let least = single.into_iter().fold(f64::INFINITY, f64::min);
        (
            format!("one trajectory alone departs by {least:.1e} at least, needs > 1e-6"),
            Verdict::of(moved),
        )
    });

/// Projecting on ten numbers a layer loses little of |v|^2; in part, less than half of what random layers lose.
const LOSES_LITTLE: JudgedClaim =
    claim("ten numbers a layer are most of the function", Source::OWN, |of| {
        let (lost, random) = (median_interval(&of.values("lost")), of.median("lost_random"));
        let measured =
            format!("lost of |v|^2: median {lost}, needs < 0.05 (in part < {:.2})", 0.5 * random);
        (measured, Verdict::graded(lost.high < 0.05, lost.high < 0.5 * random))
    })
    .beside(&["lost_theorem_1", "explained by TD(0)", "lost_random"]);
