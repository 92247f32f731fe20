//! Every claim of every experiment that is data, on records that make it come out either way.

use compute::words::Word as _;
use ictd::experiments::ALL;
use ictd::experiments::experiment::{ExperimentSpec, Runner};
use ictd::experiments::judging::{of_seeds, together};
use ictd::experiments::measurements::MeasurementTable;
use ictd::experiments::universal;
use ictd::run::report::{Claim, Verdict};
use ictd_core::rng::Rng;
use judge::universal::Family;

const SEEDS: u64 = 30;

/// Numbers that a world of records has of every run: the metrics, and their number where the paper is right, where it
/// is wrong, and where nothing changes from the beginning.
const WORLDS: &[(&str, [f64; 3])] = &[
    ("p_blocks_0,p_blocks_most", [0.05, 0.4, 0.01]),
    ("explained by preconditioned TD", [0.98, 0.8, 0.3]),
    ("preconditioned_lead", [0.01, -0.01, 0.01]),
    ("q_distance_0,q_distance_one_layer_0", [0.1, 0.9, 0.9]),
    ("q_distance_residual_0", [0.9, 0.1, 0.9]),
    ("q_trace_upper_left_0,q_trace_upper_left_1,q_trace_upper_left_2", [-4.0; 3]),
    ("q_trace_upper_right_0", [4.0, 1.2, 0.0]),
    ("q_trace_upper_right_1", [2.4, 2.4, 1.2]),
    ("q_trace_upper_right_2", [0.8, 4.0, 1.2]),
    ("alpha_settled", [0.1, 0.9, 0.1]),
    ("iws_judged", [0.99, 0.6, 0.99]),
    ("vd_judged", [0.01, 0.9, 0.5]),
    ("vtd_squared", [1.0; 3]),
    ("vd_relative", [0.01, 0.9, 0.5]),
    ("nonlinear", [0.1, 1e-28, 1e-28]),
    ("explained by TD(0)", [0.97, 0.92, 0.3]),
    ("explained by residual gradient", [0.5, 0.99, 0.3]),
    ("share", [0.97, 0.97, 0.5]),
    ("lead", [0.1, -0.1, 0.1]),
    ("form_distance", [0.1, 0.9, 0.9]),
    ("lost", [0.01, 0.9, f64::NAN]),
    ("averaged", [1e-15, 1e-3, f64::NAN]),
    ("elsewhere", [0.5, 0.5, f64::NAN]),
    ("permuted", [0.1, 1e-15, f64::NAN]),
    ("error with one layer fewer", [1.2, 0.8, f64::NAN]),
    ("error with twice the layers", [0.8, 1.2, f64::NAN]),
    ("universal", [0.4, 1.2, f64::NAN]),
    ("lstd_hindsight,lstd_one,lstd_0_one,td_hindsight,td_one,q_hindsight", [0.5; 3]),
    ("percentile_99_9", [2.0, 9.0, f64::NAN]),
    ("outside_theta", [0.01, 0.4, f64::NAN]),
    ("trained layers", [1.0, 1.0, f64::NAN]),
    ("Theorem 1", [0.8, 1.2, f64::NAN]),
    ("preconditioned TD", [0.6, 1.4, f64::NAN]),
];

/// Metrics, their first and last place, and their first and last number in each world.
type Change = (&'static str, [f64; 2], [[f64; 2]; 3]);

/// Numbers with places.
const CHANGES: &[Change] = &[
    ("iws_tenth", [0.0, 9.0], [[0.1, 0.9], [0.9, 0.1], [0.9, 0.9]]),
    ("msve_tenth", [0.0, 9.0], [[2.0, 1.0], [1.0, 2.0], [1.0, f64::NAN]]),
    ("loop,boyan,boyan-representable", [1.0, 40.0], [[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]]),
    ("boyan-representable zero,boyan-representable rewards", [1.0, 40.0], [[1.5, 1.5]; 3]),
    ("loop zero,boyan zero,loop rewards,boyan rewards", [1.0, 40.0], [[1.5, 1.5]; 3]),
    ("trained", [1.0, 60.0], [[2.0, 0.5], [0.5, 2.0], [1.0, 1.0]]),
    ("trained zero", [1.0, 60.0], [[1.5, 1.5]; 3]),
    ("rests", [5.0, 39.0], [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]),
];

/// The record of an experiment in a world.
fn record(id: &str, table: &ExperimentSpec, world: usize) -> MeasurementTable {
    let (mut long, mut rng) = (MeasurementTable::default(), Rng::new(1));
    let others = ["theorem 2", "numbers", "random MDPs", "figure-1 tasks", "TD(0)", "GTD2", "TDC"];
    let cells = if id == "universal" { universal::cells(Family::ALL) } else { Vec::new() };
    let cells: Vec<String> = cells.iter().map(universal::cell_name).collect();
    let others = others.into_iter().chain(cells.iter().map(String::as_str));
    for run in table.runs.iter().map(|run| run.name).chain(others) {
        for number in ["alpha", "beta"] {
            long.put(run, None, &format!("preconditioned TD, {number}"), 0.0, 1.0);
        }
        for seed in 0..SEEDS {
            let mut near = |x: f64| x * (1.0 + 0.004 * rng.normal::<f64>());
            for (metrics, numbers) in WORLDS {
                for metric in metrics.split(',') {
                    long.put(run, seed, metric, 0.0, near(numbers[world]));
                }
            }
            for (metrics, places, numbers) in CHANGES {
                for (metric, i) in metrics.split(',').flat_map(|metric| [(metric, 0), (metric, 1)])
                {
                    long.put(run, seed, metric, places[i], near(numbers[world][i]));
                }
            }
            // It rises or falls in the representable runs and the others as the paper says, or not.
            let rises = run.contains("representable") == (world == 0);
            let ends = if rises { [0.3, 0.9] } else { [0.9, 0.3] };
            for tenth in 0..10 {
                let x = ends[0] + (ends[1] - ends[0]) * f64::from(tenth) / 9.0;
                long.put(run, seed, "ss_tenth", tenth.into(), near(x));
            }
            let sign = if world == 0 { 1.0 } else { -1.0 };
            let less = if run.starts_with("monte-carlo") { 0.7 * sign } else { 0.0 };
            long.put(run, seed, "trained", 30.0, near(1.0 - less));
            // It falls with each layer, or grows.
            for layers in [1, 3, 5, 10, 15, 20, 40, 50, 100, 200, 300, 500, 1000].map(f64::from) {
                let error = if world == 0 { (0.6 / layers.sqrt()).max(0.1) } else { layers };
                long.put(run, seed, "error", layers, near(error));
            }
        }
        // The more layers, and the later one, the fewer other entries, or the more.
        let layers = run.trim_start_matches("linear-l").parse().unwrap_or(3.0);
        for (l, matrix) in (0..3).flat_map(|l| [(l, "p"), (l, "q")]) {
            let step = layers + f64::from(l);
            let x = if world == 0 { 0.09 - 0.012 * step } else { 0.2 + 0.05 * step };
            for (end, factor) in [("", 1.0), (" low", 0.95), (" high", 1.05)] {
                for measure in ["others_of_mean", "others_of_sizes"] {
                    long.put(run, None, &format!("{matrix}_{measure}_{l}{end}"), 0.0, factor * x);
                }
            }
        }
    }
    long
}

/// The table of an experiment that has one.
fn table(id: &str) -> &'static ExperimentSpec {
    let of_id = ALL.iter().filter(|entry| entry.id == id).find_map(|entry| match &entry.run {
        Runner::Spec(table) => Some(table),
        _ => None,
    });
    of_id.expect("a table")
}

#[test]
fn every_claim_of_every_table_comes_out_either_way() {
    let (mut count, mut faults) = (0, Vec::new());
    for entry in ALL {
        let Runner::Spec(table) = &entry.run else { continue };
        let worlds = [0, 1, 2].map(|world| record(entry.id, table, world));
        let of_runs = table.runs.iter().flat_map(|run| run.claims.iter().map(|c| (run.name, c)));
        for (run, claim) in of_runs.chain(table.claims.iter().map(|claim| ("", claim))) {
            let found: Vec<Claim> =
                worlds.iter().map(|long| claim.judge(run, long.of(run))).collect();
            for verdict in [Verdict::Holds, Verdict::DoesNotHold] {
                if !found.iter().any(|claim| claim.verdict == verdict) {
                    faults.push(format!("{}: never {verdict:?}: {found:#?}", entry.id));
                }
            }
            count += 1;
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 80, "{count}");
}

#[test]
fn the_interval_of_a_share_decides_not_a_count() {
    use Verdict::{DoesNotHold, Holds, HoldsInPart, NotMeasured, Undecided};
    let verdict = |holding: usize, seeds: usize| of_seeds((0..seeds).map(|i| i < holding)).1;
    for (holding, seeds, expected) in [
        (30, 30, Holds),
        (28, 30, Holds),
        (27, 30, HoldsInPart),
        (21, 30, HoldsInPart),
        (20, 30, Undecided),
        (17, 30, DoesNotHold),
        (0, 30, DoesNotHold),
        (9, 9, HoldsInPart),
        (2, 2, Undecided),
        (0, 0, NotMeasured),
    ] {
        assert_eq!(verdict(holding, seeds), expected, "{holding} of {seeds}");
    }
}

#[test]
fn what_differs_between_bases_cannot_be_told() {
    use Verdict::{DoesNotHold, Holds, HoldsInPart, NotMeasured, Undecided};
    for (verdicts, expected) in [
        ([Holds, Holds, Holds], Holds),
        ([Holds, HoldsInPart, Holds], HoldsInPart),
        ([DoesNotHold; 3], DoesNotHold),
        ([DoesNotHold, Holds, DoesNotHold], Undecided),
        ([DoesNotHold, Undecided, DoesNotHold], Undecided),
        ([NotMeasured, Holds, Holds], Undecided),
    ] {
        assert_eq!(together(&verdicts), expected, "{verdicts:?}");
    }
}

#[test]
fn draws_that_disagree_widen_the_interval_of_a_claim_about_seeds() {
    let claim = &table("emergence").runs[0].claims[0];
    let verdict = |spread: f64| {
        let mut long = MeasurementTable::default();
        for seed in 0..SEEDS {
            for (draw, sign) in [-1.0, -1.0, 0.0, 1.0, 1.0].into_iter().enumerate() {
                long.put("of a seed", seed, "share by draw", draw as f64, 0.91 + spread * sign);
                long.put("of a seed", seed, "lead by draw", draw as f64, 0.1);
            }
            long.put("of a seed", seed, "share", 0.0, 0.91);
            long.put("of a seed", seed, "lead", 0.0, 0.1);
        }
        claim.judge("", long.of("of a seed")).verdict
    };
    // Every seed is above 0.9 in the mean; with another choice of draws none would be.
    assert_eq!([0.001, 0.05].map(verdict), [Verdict::Holds, Verdict::Undecided]);
}

#[test]
fn a_claim_without_a_finite_number_is_not_measured() {
    for entry in ALL {
        let Runner::Spec(table) = &entry.run else { continue };
        let claims = table.runs.iter().flat_map(|run| run.claims).chain(table.claims);
        for claim in claims {
            let empty = MeasurementTable::default();
            let found = claim.judge("", empty.of("a run without measurements"));
            assert_eq!(found.verdict, Verdict::NotMeasured, "{}: {found:#?}", entry.id);
            assert!(!found.measured.contains("NaN"), "{found:#?}");
        }
    }
}

#[test]
fn seeds_that_diverged_count_against_a_claim() {
    let table = table("one-layer");
    for (diverged, expected) in [(0, Verdict::Holds), (9, Verdict::HoldsInPart)] {
        let mut long = record("one-layer", table, 0);
        (0..diverged).for_each(|seed| long.put("of a seed", seed, "p_blocks_0", 0.0, f64::NAN));
        (diverged..SEEDS).for_each(|seed| long.put("of a seed", seed, "p_blocks_0", 0.0, 0.05));
        let found = table.runs[0].claims[2].judge("", long.of("of a seed"));
        assert_eq!(found.verdict, expected);
    }
}
