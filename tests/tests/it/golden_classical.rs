//! Golden family classical: the classical algorithms that take a transformer's place.

use super::*;
use ictd_core::td::{
    BatchTd, BatchTdSettings, Learner, Lstd, LstdSettings, OnlineAlgorithm, OnlineTd,
    OnlineTdSettings, RecursiveLstd, RecursiveLstdSettings,
};

/// The cumulants.
const C: usize = 2;

golden!(golden_classical, OWN_FAMILY, Real, classical);

struct Row<R: Real, const D: usize> {
    phi: SVector<R, D>,
    phi_next: SVector<R, D>,
    rewards: [R; C],
    terminal: bool,
    end: bool,
}

fn rows<R: Real, const D: usize>(case: &Case) -> Vec<Row<R, D>> {
    let numbers = |name: &str| -> Vec<R> { tests::load(&case.input(name), 0) };
    let (phi, phi_next, rewards) = (numbers("phi"), numbers("phi_next"), numbers("rewards"));
    let (terminal, end) = (case.input("terminal").indices(), case.input("end").indices());
    (0..case.count("n"))
        .map(|t| Row {
            phi: SVector::from_column_slice(&phi[t * D..(t + 1) * D]),
            phi_next: SVector::from_column_slice(&phi_next[t * D..(t + 1) * D]),
            rewards: [rewards[C * t], rewards[C * t + 1]],
            terminal: terminal[t] == 1,
            end: end[t] == 1,
        })
        .collect()
}

fn classical<R: Real, const D: usize, const K: usize>(case: &Case, _: usize) -> Outputs<R> {
    let number = |name: &str| R::from_f64(case.number(name));
    let (gamma, lambda) = (number("gamma"), number("lambda"));
    let rows = rows::<R, D>(case);
    let (alpha, retention, ridge) =
        (|| number("alpha"), || number("retention"), || number("ridge"));
    let both = |mask: &TdLambda<R>| {
        let forgetting = Forgetting::new(retention()).unwrap();
        (observed(mask, Growing, &rows), observed(mask, forgetting, &rows))
    };
    match case.word("kind") {
        kind @ ("online_td" | "true_online_td") => {
            let new = if kind == "online_td" { OnlineTd::new } else { OnlineTd::true_online };
            learned(
                new(OnlineTdSettings::new(gamma).lambda(lambda).step_size(alpha())).unwrap(),
                &rows,
            )
        }
        "recursive_lstd" => {
            let (retention, ridge) = (retention(), ridge());
            let settings =
                RecursiveLstdSettings::new(gamma).lambda(lambda).retention(retention).ridge(ridge);
            learned(RecursiveLstd::new(settings).unwrap(), &rows)
        }
        "batch_td" => {
            let (alpha, iterations) = (alpha(), case.count("iterations"));
            let td = BatchTd::new(
                BatchTdSettings::new(gamma).lambda(lambda).step_size(alpha).iterations(iterations),
            )
            .unwrap();
            let (grown, faded) = both(td.mask());
            windowed(|m| td.value_function_for(&grown, m), |m| td.value_function_for(&faded, m))
        }
        "lstd" => {
            let lstd = Lstd::new(LstdSettings::new(gamma).lambda(lambda).ridge(ridge())).unwrap();
            let (grown, faded) = both(lstd.mask());
            windowed(|m| lstd.value_function_for(&grown, m), |m| lstd.value_function_for(&faded, m))
        }
        other => panic!("{}: kind {other}", case.label()),
    }
}

/// The weights of each cumulant, of a growing and of a forgetting context.
fn windowed<R: Real, const D: usize>(
    grown: impl Fn(usize) -> Result<ValueFunction<R, D>, Error>,
    faded: impl Fn(usize) -> Result<ValueFunction<R, D>, Error>,
) -> Outputs<R> {
    let mut out = Outputs::new();
    out.field("weights", "growing", weights(grown));
    out.field("forgetting", "forgetting", weights(faded));
    out
}

fn weights<R: Real, const D: usize>(
    of: impl Fn(usize) -> Result<ValueFunction<R, D>, Error>,
) -> Vec<R> {
    (0..C).flat_map(|m| of(m).unwrap().weights.data.0[0]).collect()
}

fn observed<R: Real, W: Memory<R>, const D: usize>(
    mask: &TdLambda<R>,
    window: W,
    rows: &[Row<R, D>],
) -> Context<D, TdLambda<R>, W, R, C> {
    let mut context = Context::with_memory(*mask, window);
    for row in rows {
        if row.terminal {
            context.observe_terminal(&row.phi, row.rewards).unwrap();
        } else {
            context.observe(&row.phi, row.rewards, &row.phi_next).unwrap();
        }
        if row.end {
            context.end_episode();
        }
    }
    context
}

/// A learner of each cumulant.
fn learned<R: Real, A: OnlineAlgorithm<R>, const D: usize>(
    algorithm: A,
    rows: &[Row<R, D>],
) -> Outputs<R> {
    let learned = [0, 1].map(|m| {
        let mut learner = Learner::<D, A, R>::new(algorithm);
        let mut path = Vec::new();
        for row in rows {
            if row.terminal {
                learner.observe_terminal(&row.phi, row.rewards[m]).unwrap();
            } else {
                learner.observe(&row.phi, row.rewards[m], &row.phi_next).unwrap();
            }
            if row.end {
                learner.end_episode();
            }
            path.extend(learner.value_function().unwrap().weights.data.0[0]);
        }
        assert_eq!(learner.len(), rows.len() as u64);
        (learner, path)
    });
    let mut out = Outputs::new();
    out.field("weights", "recursive", weights(|m| learned[m].0.value_function()));
    out.field("path", "recursive", learned[0].1.iter().copied());
    out
}
