//! `ictd evaluate --data`: values of the user's transitions, and how well they agree with the returns.

use super::{ALPHA, BLOW_UP, Evaluate, WORK, check_dimension};
use crate::encoder::{Encoder, KINDS, has_constant};
use crate::error::{Error, WithContext};
use crate::experiments::Measured;
use crate::formats::{Features, Trajectory};
use crate::model_file;
use crate::returns::{self, Half, Interval};
use crate::run::{RunFiles, Session, report};
use compute::recipe::AttentionKind;
use compute::transitions::{EpisodeEnd, Transitions};
use judge::estimator::{
    EstimatedValues, Estimator, LinearValues, Method, SOFTMAX_CONTEXT, values_of,
};
use serde_json::json;
use std::path::Path;

/// The number of layers that any number of transitions may have.
const FEW_LAYERS: usize = 1000;

/// A TD error this many times that of predicting 0 counts as divergence.
const DIVERGES: f64 = 100.0;

const SHOWN: usize = 6;

/// The number of rows, at most, whose features are tested for a constant.
const TESTED: usize = 10_000;

/// The advice that is added to the core's reason if the universal model's sums overflow; it has no learning rate.
const NO_SUMS: &str = "the universal model (give features and rewards sizes nearer to 1)";

const NO_CONSTANT: &str = "No weights give all states the same value: the features have no constant. --features standard adds one.\n";

/// A value function's values, those of the states of each half by what has read the other one, and its return error.
struct Judged {
    values: EstimatedValues,
    of_halves: Option<[Vec<f64>; 2]>,
    error: Option<Interval>,
}

impl Evaluate {
    pub(super) fn measure(
        &self,
        file: &Path,
        estimator: &Estimator,
        session: &Session,
        records: &mut RunFiles,
    ) -> Result<Measured, Error> {
        let (Trajectory { transitions: mut data, query }, ignored) = self.naming.open(file)?;
        let (observed, n) = (data.d, data.len());
        let mut queries = match &self.queries {
            Some(file) => {
                let found = Features::open(file)?;
                if found.dimension != observed {
                    let found = found.dimension;
                    let reason = format!("{found} features; expected {observed}, as in the data");
                    return Err(Error::file(file, reason));
                }
                found.numbers
            }
            None => query.map_or(Vec::new(), |query| query.numbers),
        };
        if let Some(encoder) = self.encoder(&data)? {
            encode(&encoder, &mut data);
            queries = encoder.encode(&queries);
            records.put("features.json", encoder.to_json());
        }
        let d = data.d;
        self.check(file, estimator, &data)?;
        let Estimator { ref method, gamma, layers } = *estimator;
        let (alpha, trace_decay) = (self.alpha.unwrap_or(ALPHA), estimator.trace_decay());
        let iterations = match method {
            Method::Universal(_) => self.typed.of_construction()?.0,
            _ => layers,
        };
        let algorithm = if trace_decay > 0.0 { "batch TD(lambda)" } else { "batch TD(0)" };
        let is_universal = matches!(method, Method::Universal(_));
        let blow_up = if is_universal { NO_SUMS } else { BLOW_UP };
        let halves = Half::both(&data, gamma);
        let read = |method: &Method, data: &Transitions, queries: &[f64]| {
            let layers = if let Method::Iterated { .. } = method { iterations } else { layers };
            let estimator = Estimator { method: method.clone(), gamma, layers };
            let mut stream = estimator.stream(d, None).context("the model")?;
            stream.observe_all(data).context(file.display())?;
            values_of(&*stream, data, queries, gamma).context(blow_up)
        };
        let judged = |method: &Method| -> Result<Judged, Error> {
            let values = read(method, &data, &queries)?;
            let of_half = |k: usize| {
                let states = halves[k].states();
                Some(read(method, &halves[1 - k].transitions, &states).ok()?.queries)
            };
            let of_halves = of_half(0).zip(of_half(1)).map(|(first, second)| [first, second]);
            let error = of_halves.as_ref().and_then(|values| returns::error(&halves, values));
            Ok(Judged { values, of_halves, error })
        };
        let (transformer, others) = session.on_threads(1, || -> Result<_, Error> {
            let others =
                [Method::Iterated { alpha, trace_decay }, Method::FixedPoint { trace_decay }];
            // Iterates may overflow, and the data may not determine the fixed point.
            Ok((judged(method)?, others.map(|method| judged(&method).ok())))
        })??;
        let [iterated, lstd] = &others;
        let all = [
            (if is_universal { "universal model" } else { "transformer" }, Some(&transformer)),
            (algorithm, iterated.as_ref()),
            ("LSTD", lstd.as_ref()),
        ];
        let table = |of: fn(&EstimatedValues) -> &[f64]| -> Vec<_> {
            let row = |i| (i + 1, all.map(|(_, judged)| judged.map(|j| of(&j.values)[i])));
            (0..of(&transformer.values).len()).map(row).collect()
        };
        let head = ["row", "transformer", "algorithm", "lstd"];
        records.put_table("values.csv", &head, table(|values| &values.rows))?;
        if !queries.is_empty() {
            records.put_table("queries.csv", &head, table(|values| &values.queries))?;
        }

        let squares = data.reward.iter().enumerate().map(|(i, r)| data.weight(i) * (r * r));
        let zero = (squares.sum::<f64>() / n as f64).sqrt();
        let diverges = |judged: &Judged| {
            let td_error = judged.values.td_error;
            td_error.is_nan() || td_error > DIVERGES * zero.max(f64::MIN_POSITIVE)
        };
        let iterates = iterated.as_ref().is_some_and(diverges);
        let episodes = data.episodes();
        let [known, of_episodes] = returns::known(&halves);
        let zeros = [0, 1].map(|k| vec![0.0; halves[k].states().len() / d]);
        let of_zero = returns::error(&halves, &zeros);
        let ranked = all.iter().filter_map(|(name, judged)| {
            let judged = (*judged)?;
            Some((*name, judged.of_halves.as_ref()?, judged.error?.mean))
        });
        let zero_too = of_zero.map(|error| ("predicting 0", &zeros, error.mean));
        let best = best(&halves, ranked.chain(zero_too).collect());
        let has_constant = has_constant(&data.phi[..data.phi.len().min(TESTED * d)], d);
        let difference = |judged: &Judged| rms(&transformer.values.rows, &judged.values.rows);
        let linear =
            |judged: Option<&'_ Judged>| judged.and_then(|judged| judged.values.linear.clone());
        let estimators = all.map(|(name, judged)| {
            let error = judged.and_then(|judged| judged.error);
            json!({
                "name": name,
                "weights": linear(judged).map(|linear| linear.weights),
                "level": linear(judged).map(|linear| linear.level),
                "td_error": judged.map(|judged| judged.values.td_error),
                "return_error": error.map(|error| error.mean),
                "return_error_interval": error.map(|error| [error.low, error.high]),
                "difference": judged.map(difference),
            })
        });
        let results = json!({
            "dimension": d,
            "transitions": n,
            "episodes": episodes,
            "layers": layers,
            "iterations": iterations,
            "gamma": gamma,
            "trace_decay": trace_decay,
            "estimators": estimators,
            "known_returns": known,
            "return_error_of_0": of_zero.map(|error| error.mean),
            "best_by_returns": best.as_ref().map(|(name, _)| name),
            "ignored": ignored,
            "constant_feature": has_constant,
            "query_values": transformer.values.queries,
        });

        let number = |x: f64| if x.is_finite() { report::number(x, 6) } else { "—".into() };
        let interval = |error: Option<Interval>| {
            let with = |Interval { mean, low, high }| {
                let [mean, low, high] = [mean, low, high].map(|x| report::number(x, 4));
                format!("{mean} [{low}, {high}]")
            };
            error.map_or("—".into(), with)
        };
        let head = [
            "value function",
            "weights",
            "TD error (rms)",
            "return error (rms)",
            "difference of values (rms)",
        ];
        let rows = all.map(|(name, judged)| {
            let of = |x: &dyn Fn(&Judged) -> f64| number(judged.map_or(f64::NAN, x));
            let weights = linear(judged).map_or("—".into(), |linear| shown(&linear));
            let error = interval(judged.and_then(|judged| judged.error));
            [name.into(), weights, of(&|judged| judged.values.td_error), error, of(&difference)]
        });
        let predicting_0 =
            ["predicting 0".into(), "—".into(), number(zero), interval(of_zero), "—".into()];
        let lambda = report::shortest(trace_decay);
        let mut text = report::table(&head, rows.into_iter().chain([predicting_0]))
            + &format!(
                "{n} transitions in {episodes} episode{}; trace decay {lambda}; {algorithm}: {iterations} iterations, alpha \
                 {}; LSTD: no ridge\n",
                if episodes == 1 { "" } else { "s" },
                report::shortest(alpha)
            );
        text.push_str(&match (&best, of_zero) {
            (_, None) => "Return errors are not measured: the episodes are too short, or too few end, for this discount.\n".into(),
            (best, _) => {
                let by = best.as_ref().map_or(String::new(), |(name, told)| format!(" The best is {name}{told}."));
                format!(
                    "Return errors compare {known} known returns of {of_episodes} episodes, or parts of them, with what was predicted \
                     from the other half of the data.{by}\n"
                )
            }
        });
        if !ignored.is_empty() {
            text.push_str(&format!("Not used: the arrays {}.\n", ignored.join(", ")));
        }
        for (is_so, line) in [
            (lstd.is_none(), "LSTD: the transitions do not determine all weights.\n"),
            (iterated.is_none(), "The algorithm's iterates overflow: lower --alpha.\n"),
            (iterates, "The algorithm's iterates diverge: lower --alpha.\n"),
            (!has_constant, NO_CONSTANT),
        ] {
            text.push_str(if is_so { line } else { "" });
        }
        Ok(Measured { results, text, claims: Vec::new() })
    }

    /// Returns the encoder of the observations, if they are no features yet.
    fn encoder(&self, data: &Transitions) -> Result<Option<Encoder>, Error> {
        let Some(named) = &self.features else { return Ok(None) };
        let refuse = |reason: String| Error::option("--features", reason);
        let encoder = match named.ends_with(".json") {
            true => Encoder::open(Path::new(named))?,
            false if KINDS.contains(&&**named) => {
                Encoder::fit(named, &data.phi, data.d).map_err(refuse)?
            }
            false => {
                let expected = format!("expected one of {}, or a file FILE.json", KINDS.join(", "));
                return Err(refuse(format!("{named}: {expected}")));
            }
        };
        if encoder.observed() != data.d {
            let reason =
                format!("of {} numbers; expected {}, as in the data", encoder.observed(), data.d);
            return Err(refuse(reason));
        }
        Ok(Some(encoder))
    }

    /// Rejects data that the model does not accept, and layers that would take minutes: a file may claim any number of them.
    fn check(&self, file: &Path, estimator: &Estimator, data: &Transitions) -> Result<(), Error> {
        let (d, n) = (data.d, data.len());
        check_dimension(estimator, d, "the data")?;
        if let Method::Trained { attention, .. } = &estimator.method {
            if data.rho.is_some() && !estimator.takes_weights() {
                let reason = "rho: softmax attention takes no weights; expected a model that does";
                return Err(Error::file(file, reason));
            }
            if *attention == AttentionKind::Softmax && n > SOFTMAX_CONTEXT {
                let expected = format!("expected at most {SOFTMAX_CONTEXT} for softmax attention");
                return Err(Error::option("--data", format!("{n} transitions; {expected}")));
            }
        }
        let cost = n.saturating_mul(d).saturating_add((2 * d + 1).pow(3));
        model_file::check_depth("--layers", estimator.layers, cost, [WORK, FEW_LAYERS])
    }
}

/// Replaces observations by their features; the next features of a terminal state stay 0.
fn encode(encoder: &Encoder, data: &mut Transitions) {
    data.phi = encoder.encode(&data.phi);
    data.phi_next = encoder.encode(&data.phi_next);
    data.d = encoder.features();
    for (next, mark) in data.phi_next.chunks_exact_mut(data.d).zip(&data.marks) {
        if *mark == EpisodeEnd::Terminal {
            next.fill(0.0);
        }
    }
}

/// A name with its values of the states of each half, and their return error.
type Ranked<'a> = (&'a str, &'a [Vec<f64>; 2], f64);

/// Returns the value function with the least return error, and in how far the next one that differs is worse.
fn best(halves: &[Half; 2], mut ranked: Vec<Ranked>) -> Option<(String, String)> {
    ranked.retain(|(.., error)| error.is_finite());
    ranked.sort_by(|a, b| a.2.total_cmp(&b.2));
    let (name, first, least) = *ranked.first()?;
    let next = ranked.iter().find(|(.., error)| error - least > 1e-9 * least);
    let next = next.and_then(|(name, next, _)| {
        let Interval { mean, low, high } = returns::advantage(halves, first, next)?;
        let [mean, low, high] = [mean, low, high].map(|x| report::number(x, 3));
        Some(format!(", before {name} by {mean} [{low}, {high}] in the mean squared error"))
    });
    Some((name.to_owned(), next.unwrap_or_default()))
}

fn rms(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(x, y)| (x - y) * (x - y));
    (squares.fold(0.0, |sum, x| sum + x) / a.len() as f64).sqrt()
}

fn shown(LinearValues { weights, level }: &LinearValues) -> String {
    let shown: Vec<_> = weights.iter().take(SHOWN).map(|x| report::number(*x, 4)).collect();
    let more = if weights.len() > shown.len() { ", …" } else { "" };
    let level = match level {
        0.0 => String::new(),
        level => format!(", level {}", report::number(*level, 4)),
    };
    format!("({}{more}){level}", shown.join(", "))
}
