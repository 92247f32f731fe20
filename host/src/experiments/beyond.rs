//! Questions that the paper leaves open, as data: which algorithms emerge, and what trained layers have beside the
//! numbers of Theorem 2.

use super::experiment::Entry;
use super::judging::{JudgedClaim, Judgement, Needs, claim, share_of_seeds};
use super::long::OfRun;
use super::paper::{D_8, EXPLAINED, table};
use super::plots::Shown::Explained;
use super::statistics::{median_interval, spread};
use super::table::{Asks, Table, TrainingRun, run};
use crate::run::report::{Source, Verdict};
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
        figures: &[Explained("emergence", "Which algorithms emerge", 4)],
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

/// What trained parameters have beside ten numbers a layer.
pub const INVARIANT_SET: Entry = table(
    "invariant-set",
    "Beyond the paper: the invariant set of any depth",
    Table {
        about: "Trained parameters (the linear transformers of the paper's experiments): how much of P and Q is \
                outside of ten numbers a layer, the set for any depth, and what share of |v|^2 is lost, on 100 fresh \
                contexts, when P and Q are projected on it.",
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
        ..Table::EMPTY
    },
);

const fn kept(name: &'static str, options: &'static str) -> TrainingRun {
    run(name, options, name, &[LOSES_LITTLE])
}

/// Projecting on ten numbers a layer loses little of |v|^2; in part, less than half.
const LOSES_LITTLE: JudgedClaim =
    claim("ten numbers a layer are most of the function", Source::OWN, |of| {
        let lost = median_interval(&of.values("lost"));
        let measured = format!("lost of |v|^2: median {lost}, needs < 0.05 (in part < 0.5)");
        (measured, Verdict::graded(lost.high < 0.05, lost.high < 0.5))
    })
    .beside(&["outside_p", "outside_q", "explained by TD(0)"]);
