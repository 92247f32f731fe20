//! One contract for all fronts: what cannot be computed is the same error in core, in C, in Python and on the command line.
//! `outcomes.csv` is the table: its rows are made here, by core, and Python's tests read it.

use crate::common::*;
use ictd_c::{ictd_context_init, ictd_context_observe, ictd_context_value_function, ictd_status};
use ictd_core::constructions;
use ictd_core::mask::TdLambda;
use ictd_core::model::{Linear, Model};
use ictd_core::scalar::Real;
use ictd_core::td::{
    BatchTd, BatchTdSettings, Lstd, LstdSettings, OnlineTd, OnlineTdSettings, RecursiveLstd,
    RecursiveLstdSettings,
};
use ictd_core::transformer::Transformer;
use ictd_core::transition::Transition;
use ictd_core::{Error, Predictor, UniversalModel};
use judge::estimator::{Estimator, Method};

type Core<T> = ictd_core::Result<T>;

const ALPHA: f64 = 0.2;
const LAMBDA: f64 = 0.9;
const RIDGE: f64 = 0.3;
const RETENTION: f64 = 0.9998;
const TRACE_DECAY: f64 = 0.5;
const BETA: f64 = 0.1;

#[derive(Clone, Copy)]
struct Case {
    algorithm: &'static str,
    n: usize,
    gamma: f64,
    layers: usize,
    level: f64,
    scale: f64,
}

const ALGORITHMS: [&str; 8] = [
    "universal",
    "td0",
    "td_lambda",
    "preconditioned_td",
    "batch_td",
    "lstd",
    "recursive_lstd",
    "online_td",
];

fn cases() -> Vec<Case> {
    let usual =
        |algorithm| Case { algorithm, n: 20, gamma: 0.9, layers: 15, level: 0.0, scale: 1.0 };
    let of = |algorithm| {
        let usual = usual(algorithm);
        let scales = [1e-170, 1e-163, 1e-100, 1e-23, 1e-10, 1e10, 1e100, 1e140, 1e149, 1e170];
        let levels = [1.0, 10.0, 1e3, 1e6];
        let gammas = [0.0, 1.0 - 1e-6, 1.0 - 1e-8, 1.0 - 1e-12, 1.0];
        let layers = [0, 3, 1000, 65_535, 65_536, 300_000_000];
        let has_layers =
            algorithm.contains("td") && !algorithm.contains("lstd") && algorithm != "online_td";
        // An algorithm is no stored model: its iterations have no such bound in core.
        let most = if algorithm == "batch_td" { 65_535 } else { usize::MAX };
        let layers = layers.into_iter().filter(move |layers| has_layers && *layers <= most);
        let scales = scales.map(|scale| Case { scale, ..usual }).into_iter();
        scales
            .chain(levels.map(|level| Case { level, ..usual }))
            .chain(gammas.map(|gamma| Case { gamma, ..usual }))
            .chain([0, 1, 2, 3].map(|n| Case { n, ..usual }))
            .chain(layers.map(move |layers| Case { layers, ..usual }))
    };
    ALGORITHMS.into_iter().flat_map(of).collect()
}

/// Features of state i; Python's test has the same formula.
fn features(case: &Case, i: usize) -> [f64; 2] {
    [0, 1].map(|j| {
        let x = ((7 * i + 3 * j + i * i * (j + 1)) % 11) as f64 - 5.0;
        case.scale * (case.level + x / 5.0)
    })
}

fn reward(i: usize) -> f64 {
    (i % 3) as f64 - 0.5
}

/// Observes the transitions of a case, and reads.
fn through<C, T>(
    case: &Case,
    mut context: C,
    observe: impl Fn(&mut C, &Transition<f64, 2>) -> Core<()>,
    read: impl FnOnce(&C) -> Core<T>,
) -> Core<T> {
    for i in 0..case.n {
        let [phi, phi_next] = [i, i + 1].map(|i| features(case, i).into());
        observe(&mut context, &Transition { phi, reward: reward(i), phi_next })?;
    }
    read(&context)
}

fn core(case: &Case) -> Core<()> {
    let Case { gamma, layers, .. } = *case;
    let constructed = |layer, trace_decay| {
        let transformer = Transformer::<_, 1>::autoregressive(layer, layers)?;
        let mask = TdLambda::new(trace_decay)?;
        let model =
            Model::<f64, 2, 5, 1, Linear<TdLambda<f64>>>::new(transformer, Linear(mask), gamma)?;
        let context = model.context();
        through(case, context, |c, t| c.observe_transition(t), |c| model.value_function(c))
            .map(drop)
    };
    let td0 = || constructions::td0::<_, 2, 5>(&constructions::scaled_identity(ALPHA));
    match case.algorithm {
        "td0" => constructed(td0(), 0.0)?,
        "td_lambda" => constructed(td0(), TRACE_DECAY)?,
        "preconditioned_td" => {
            constructed(constructions::preconditioned_td::<_, 2, 5>(ALPHA, BETA), 0.0)?;
        }
        "universal" => {
            let model = UniversalModel::<f64>::new(gamma)?;
            let context = model.context::<2>();
            through(case, context, |c, t| c.observe_transition(t), |c| model.value_function(c))?;
        }
        "batch_td" => {
            let settings =
                BatchTdSettings::new(gamma).lambda(0.0).step_size(ALPHA).iterations(layers);
            let td = BatchTd::new(settings)?;
            through(
                case,
                td.context::<2>(),
                |c, t| c.observe_transition(t),
                |c| td.value_function(c),
            )?;
        }
        "lstd" => {
            let lstd = Lstd::new(LstdSettings::new(gamma).lambda(LAMBDA).ridge(RIDGE))?;
            let context = lstd.context::<2>();
            through(case, context, |c, t| c.observe_transition(t), |c| lstd.value_function(c))?;
        }
        "recursive_lstd" => {
            let (lambda, retention, ridge) = (LAMBDA, RETENTION, RIDGE);
            let settings =
                RecursiveLstdSettings::new(gamma).lambda(lambda).retention(retention).ridge(ridge);
            let learner = RecursiveLstd::new(settings)?.context::<2>();
            through(case, learner, |c, t| c.observe_transition(t), |c| c.value_function())?;
        }
        _ => {
            let settings = OnlineTdSettings::new(gamma).lambda(LAMBDA).step_size(0.1);
            let learner = OnlineTd::true_online(settings)?.context::<2>();
            through(case, learner, |c, t| c.observe_transition(t), |c| c.value_function())?;
        }
    }
    Ok(())
}

/// Computes by the estimators that Python and the command line share.
fn estimator(case: &Case) -> Core<()> {
    let Case { gamma, layers, .. } = *case;
    let (lambda, alpha, ridge) = (LAMBDA, ALPHA, RIDGE);
    let method = match case.algorithm {
        "universal" => Method::Universal(Box::new(UniversalModel::<f64>::new(gamma)?)),
        "td0" => Method::Constructed { alpha, trace_decay: 0.0 },
        "td_lambda" => Method::Constructed { alpha, trace_decay: TRACE_DECAY },
        "preconditioned_td" => Method::PreconditionedTd { alpha, beta: BETA },
        "batch_td" => Method::BatchTd { lambda: 0.0, alpha },
        "lstd" => Method::Lstd { lambda, ridge },
        "recursive_lstd" => Method::RecursiveLstd { lambda, retention: RETENTION, ridge },
        _ => Method::OnlineTd { lambda, alpha: 0.1, true_online: true },
    };
    let mut stream = Estimator { method, gamma, layers }.stream(2, None)?;
    for i in 0..case.n {
        let [phi, next] = [i, i + 1].map(|i| features(case, i));
        stream.observe(&phi, reward(i), Some(&next), 1.0)?;
    }
    stream.values(&features(case, 0)).map(drop)
}

fn outcome(of: Core<()>) -> &'static str {
    match of {
        Ok(()) => "a value",
        Err(Error::Diverges) => "diverges",
        Err(Error::NonFinite { .. }) => "not finite",
        Err(Error::OutOfRange { .. }) => "out of range",
        Err(Error::Empty { .. }) => "empty",
        Err(Error::Singular { .. }) => "singular",
        Err(_) => "another error",
    }
}

/// Python's test has the same words.
fn outcome_of_message(line: &str) -> &'static str {
    let words = [
        ("diverge", "diverges"),
        ("NaN or infinite", "not finite"),
        ("no rows", "empty"),
        ("is empty", "empty"),
        ("no unique solution", "singular"),
        ("expected", "out of range"),
    ];
    words.into_iter().find(|(word, _)| line.contains(word)).map_or("another error", |found| found.1)
}

fn table() -> String {
    let row = |case: &Case| {
        let Case { algorithm, n, gamma, layers, level, scale } = case;
        let outcome = outcome(core(case));
        format!("{algorithm},{n},{gamma:?},{layers},{level:?},{scale:?},{outcome}\n")
    };
    let rows = cases().iter().map(row).collect::<String>();
    format!("algorithm,n,gamma,layers,level,scale,outcome\n{rows}")
}

#[test]
fn the_table_of_outcomes_is_cores() {
    let made = table();
    if let Some(folder) = std::env::var_os("ICTD_BLESS") {
        fs::write(Path::new(&folder).join("outcomes.csv"), &made).unwrap();
    }
    assert_eq!(made, include_str!("outcomes.csv"));
}

#[test]
fn what_python_and_the_command_line_compute_with_has_cores_outcomes() {
    for case in cases() {
        // A stream has no bound of layers: those who make one have.
        if (1..=65_535).contains(&case.layers) {
            let Case { algorithm, n, gamma, layers, level, scale } = case;
            let of =
                format!("{algorithm}, n {n}, gamma {gamma:?}, {layers} layers, {level} {scale:e}");
            assert_eq!(outcome(estimator(&case)), outcome(core(&case)), "{of}");
        }
    }
}

#[test]
fn the_command_line_has_cores_outcomes() {
    let here = &Folder::new();
    for case in cases() {
        let Case { algorithm, n, gamma, layers, level, scale } = case;
        let more = match algorithm {
            "universal" => "--model universal".to_owned(),
            "td0" => format!("--layers {layers}"),
            "td_lambda" => format!("--trace-decay {TRACE_DECAY} --layers {layers}"),
            _ => continue,
        };
        let row = |i: usize| {
            let ([a, b], [c, d]) = (features(&case, i), features(&case, i + 1));
            format!("{a:?},{b:?},{:?},{c:?},{d:?}\n", reward(i))
        };
        let rows = (0..n).map(row).collect::<String>();
        here.put("data.csv", format!("phi_0,phi_1,reward,phi_next_0,phi_next_1\n{rows}"));
        let output = run(here, &format!("evaluate --data data.csv --gamma {gamma:?} {more}"));
        let found = match output.status.code() {
            Some(0) => "a value",
            _ => outcome_of_message(&String::from_utf8_lossy(&output.stderr)),
        };
        let of = format!("{algorithm}, n {n}, gamma {gamma:?}, {layers} layers, {level} {scale:e}");
        assert_eq!(found, outcome(core(&case)), "{of}: {output:?}");
    }
}

/// In `f32`, C's universal model and predictor beside core's.
#[test]
fn c_has_cores_outcomes() {
    let mut storage = vec![0_u64; 5000];
    let scales = [1e-30_f32, 1e-23, 1e-15, 1e-6, 1.0, 1e6, 1e12, 1e15, 1e20];
    for (scale, n) in scales.into_iter().flat_map(|scale| [(scale, 0), (scale, 1), (scale, 20)]) {
        let case =
            Case { algorithm: "universal", n, gamma: 0.9, layers: 0, level: 0.0, scale: 1.0 };
        let features = |i| features(&case, i).map(|x| x as f32 * scale);
        let model = UniversalModel::<f32>::new(0.9).unwrap();
        let mut context = model.context::<2>();
        let of_core = (0..n)
            .try_for_each(|i| context.observe(&features(i), reward(i) as f32, &features(i + 1)));
        let of_core = of_core.and_then(|()| model.value_function(&context).map(drop));
        let handle = storage.as_mut_ptr().cast();
        // SAFETY: the storage is large enough, and all pointers are of the documented lengths.
        let of_c = unsafe {
            assert_eq!(ictd_context_init(handle, 40_000, 2, 0.9, 1.0), ictd_status::Ok);
            let observed = (0..n).map(|i| {
                let (phi, next) = (features(i), features(i + 1));
                ictd_context_observe(handle, phi.as_ptr(), reward(i) as f32, next.as_ptr())
            });
            let observed = observed.into_iter().find(|status| *status != ictd_status::Ok);
            let mut found = std::mem::zeroed();
            observed.unwrap_or_else(|| ictd_context_value_function(handle, &mut found))
        };
        let expected = match of_core {
            Ok(()) => ictd_status::Ok,
            Err(error) => error.into(),
        };
        assert_eq!(of_c, expected, "{scale:e}, n {n}");
    }
}

/// Returns whether the predictor has known a band, and whether its value was finite whenever it had.
fn known<S: Real>(mut predictor: Predictor<1, S>, scale: f64) -> (bool, bool) {
    let mut known = (false, true);
    for i in 0..400_u32 {
        let x = scale * (f64::from(i * i % 17) - 8.0 + f64::from(i % 2));
        let seen = predictor.observe(S::from_f64(x)).predictions[0];
        if seen.known {
            known.0 = true;
            known.1 &= [seen.mean, seen.low, seen.high].iter().all(|x| x.is_finite());
            known.1 &= seen.low <= seen.mean && seen.mean <= seen.high;
        }
    }
    known
}

/// A predictor outside of its range knows nothing, and inside all that it says is finite, in both precisions.
#[test]
fn the_predictor_knows_only_what_is_in_its_range() {
    for scale in [1e-30, 1e-20, 1e-15, 1e-6, 1.0, 1e6, 1e10, 1e12, 1e15, 1e30] {
        let single = known(Predictor::<1>::new([10.0]).unwrap(), scale);
        let double = known(Predictor::<1, f64>::new([10.0]).unwrap(), scale);
        let is_within = (1e-15..=1e10).contains(&scale);
        assert_eq!(single, (is_within, true), "{scale:e}");
        assert_eq!(double, (is_within, true), "{scale:e}");
    }
}
