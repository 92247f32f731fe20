//! `ictd` without a command: the paper's three questions, answered by the measurements of one run.

use crate::error::Error;
use crate::experiments::learning::TrainingBudget;
use crate::experiments::one_layer::{DEPARTURES, ONE_LAYER, OUTSIDE, STAYS};
use crate::experiments::paper::{FIGURE_2, IS_PRECONDITIONED};
use crate::experiments::{Catalogue, MeasurementTable, demo, verify};
use crate::page;
use crate::run::report::{bound, wrapped};
use crate::run::{Report, RunDirectory, RunFiles, RunManifest, Session, Verdict, config};
use ictd_core::metrics::FORM_DISTANCE;
use serde_json::{Value, json};

/// One layer needs fewer seeds than three.
const ONE_LAYERS_SEEDS: usize = 10;

const WIDTH: usize = 80;

pub fn run(session: &Session, catalogue: &Catalogue) -> Result<Report, Error> {
    let directory = RunDirectory::claim(session.out.clone())?;
    let info = RunManifest::new("main", session);
    let started = std::time::Instant::now();
    let mut report = Report::of("main", &json!({ "seed": session.seed }));
    // No times and paths, so that equal seeds give equal bytes on any machine.
    let mut written = report.clone();
    let all = TrainingBudget { one_base: true, ..TrainingBudget::default() };
    let few = TrainingBudget { seeds: Some(ONE_LAYERS_SEEDS), ..all.clone() };
    for (entry, scale) in
        [(verify::ENTRY, &all), (demo::ENTRY, &all), (FIGURE_2, &all), (ONE_LAYER, &few)]
    {
        let part = entry.run(scale, session)?;
        let same = Report { files: Vec::new(), seconds: None, ..part.clone() };
        written.results.insert(entry.id.into(), same.to_value());
        written.claims.extend_from_slice(&part.claims);
        report.results.insert(entry.id.into(), part.to_value());
        report.claims.extend(part.claims);
        report.files.extend(part.files);
    }
    report.results.insert("seconds".into(), json!(started.elapsed().as_secs_f64()));
    report.text = answers(session, &report)?;
    report.brief = true;
    // The main job has no options.
    let mut records = RunFiles::default();
    records.put("config.toml", config::to_text("main", session.seed, &json!({}))?);
    records.put("results.json", format!("{:#}\n", written.to_value()));
    directory.complete(&mut records, info, &report.claims)?;
    report.files.splice(0..0, directory.write(records.files())?);
    page::add(&mut report, &directory.path, catalogue, session)?;
    Ok(report)
}

fn answers(session: &Session, report: &Report) -> Result<String, Error> {
    let read = |id: &str| MeasurementTable::read(&RunFiles::open(&session.out.join(id))?);
    let (figure_2, one_layer) = (read(FIGURE_2.id)?, read(ONE_LAYER.id)?);
    let (three, one) = (figure_2.of("linear-l3"), one_layer.of("linear-l1"));
    let results = report.to_value();
    let number = |path| results.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let within = |metric: &str| {
        let values = three.values(metric);
        format!("{} of {}", values.iter().filter(|x| **x <= FORM_DISTANCE).count(), values.len())
    };
    let constructed = [verify::ENTRY.id, demo::ENTRY.id];
    let runs_td = constructed.iter().all(|id| report.results[*id]["holds"] == true);
    let errors = &results["demo"]["msve_mean"];
    let last = errors.as_array().and_then(|all| all.last()?.as_f64()).unwrap_or(f64::NAN);
    let [_, stays, _] = page::words::shown(STAYS.judge("", one).verdict);
    let outside = one.values("outside_theta");
    let parts = [
        format!(
            "Can a transformer run TD in its forward pass? {}: with constructed weights, 40 layers and 40 steps of \
             four TD algorithms differ by at most {}, and Figure 1's value error falls from {:.3} to {:.3} over a \
             context of 39 transitions.",
            answer(Verdict::of(runs_td)),
            bound(number("/verify/max_abs_error")),
            number("/demo/msve_mean/0"),
            last,
        ),
        format!(
            "Does it emerge from multi-task TD? {}, preconditioned: TD whose step l is preconditioned by (I - beta Sigma)^l, \
             with the context's second moment Sigma, explains {:.3} of the function of three trained layers (median of {} \
             seeds), and TD(0) with as many step sizes as layers {:.3}. By the paper's measure, seeds averaged and then \
             scaled, P's and Q's other entries are {:.3} and {:.3} beside 1; in single seeds, Q's blocks \
             are within {FORM_DISTANCE} of Theorem 1's form in {}.",
            answer(IS_PRECONDITIONED.judge("", three).verdict),
            three.median("explained by preconditioned TD"),
            three.values("finite").len(),
            three.median("explained by a step size a layer"),
            three.median("p_others_of_mean_0"),
            three.median("q_others_of_mean_0"),
            within("q_distance_0"),
        ),
        format!(
            "Why? Theorem 2, for one layer (L = 1), {}: expected updates that start in its set of three numbers leave it by \
             {} at most. Training starts outside, and ends in it, but for less than {OUTSIDE} of P's and Q's \
             squares, in {} of {} seeds (median {:.3}).",
            stays,
            bound(one.other_run(DEPARTURES).values("averaged").into_iter().fold(0.0, f64::max)),
            outside.iter().filter(|x| **x < OUTSIDE).count(),
            outside.len(),
            one.median("outside_theta"),
        ),
    ];
    Ok(parts.map(|part| wrapped(&part, WIDTH).join("\n") + "\n\n").concat())
}

fn answer(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "Yes",
        Verdict::HoldsInPart => "In part",
        Verdict::DoesNotHold => "No",
        Verdict::Undecided => "Cannot be told",
        Verdict::NotMeasured => "Not measured",
    }
}
