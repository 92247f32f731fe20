//! `ictd sweep`.

use crate::error::Error;
use crate::experiments::{Experiment, Measured};
use crate::options;
use crate::run::{Report, Session};
use crate::sweep::collect::{self, Collected, SUMMARY};
use crate::sweep::figure;
use crate::sweep::plan::{Plan, Shard};
use crate::sweep::work::{self, Found};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The largest number of names in a line; the object of `--json` has all.
const NAMED: usize = 8;

/// Train the recipes of a plan: a grid of settings, with the same seeds, here or in shards anywhere
///
/// PLAN.toml, with the names of `ictd train`'s options:
///   seeds = 8                # or text as for --seeds: "0..9,20"
///   [settings]               # of all runs
///   tasks = 1000
///   [grid]                   # lists of values: every combination is a run
///   learning-rate = [0.001, 0.003, 0.01]
///   layers = [1, 3]
///
/// Each run is a folder of --out, named after its recipe as `ictd train` does, so that nothing is
/// trained twice. The same command continues after Ctrl-C or a crash. It may run several times at
/// once, on any machines that share the folder: the command waits for a seed that another process
/// here trains; it skips, and reports, one claimed on another machine. Or each process does a part
/// of its own, --shard I/N, on machines that share nothing; their folders are then copied into one.
///
/// Up to 16 seeds of one run train side by side for little more than the time of one, so a shard is
/// a number of such groups. The last step is --collect: tables of everything in --out/sweep, with a
/// judgement of each seed, byte-identical wherever the shards ran.
///
/// The exit code is 0 if everything has finished, even if seeds diverged (1 with --check), and 1 if
/// a seed is claimed on another machine or, with --collect, is missing.
#[derive(Clone, Debug, clap::Args, Serialize)]
#[command(verbatim_doc_comment)]
#[serde(rename_all = "kebab-case")]
// The plan's tables are not links.
#[allow(rustdoc::broken_intra_doc_links)]
pub struct Sweep {
    /// The plan
    #[arg(value_name = "PLAN.toml")]
    pub plan: PathBuf,
    /// Do part I of N, I from 1 to N: the groups I, I + N, ... of up to 16 seeds of a run; if N
    /// exceeds the number of groups, groups are halved
    #[arg(long, value_name = "I/N")]
    #[serde(skip)]
    pub shard: Option<Shard>,
    /// Train nothing: judge the seeds that have finished, on fresh contexts, and write --out/sweep: sweep.csv (a row for each
    /// run, seed and log point), records.csv (the judgements), summary.csv and a figure
    #[arg(long, conflicts_with = "shard")]
    pub collect: bool,
    /// The metric that --collect shows at the end of the runs: a column of sweep.csv, or a judgement, value_error, iws_judged,
    /// explained_td0, explained_td0.3, explained_td0.6, explained_td0.9, explained_residual_gradient [default: value_error,
    /// explained_td0 and iws_judged, and a figure of the first; msve, or loss, of runs that are not judged]
    #[arg(long, value_name = "NAME", requires = "collect", value_parser = figure::metric)]
    pub metric: Option<String>,
    /// Seconds between two checkpoints
    #[arg(long, value_name = "SECONDS", default_value = "5", conflicts_with = "collect", value_parser = options::real(0.0..=1e9))]
    #[serde(skip)]
    pub checkpoint_every: f64,
    /// Exit code 1 also if a seed diverged
    #[arg(long)]
    #[serde(skip)]
    pub check: bool,
}

pub(crate) const ENTRY: Experiment =
    Experiment::by_command("sweep", "none: a sweep over settings", figure::figures);

fn collect(options: &Sweep, plan: &Plan, session: &Session) -> Result<Report, Error> {
    if !collect::has_something(plan, &session.out)? {
        let reason = "no seed of the plan has finished here; expected its folder";
        return Err(Error::file(&session.out, reason));
    }
    let mut found = Collected::default();
    let mut report = ENTRY.record(options, session, |records| {
        found = collect::collect(plan, session, records)?;
        let table = figure::table(&records.get(SUMMARY)?, options.metric.as_deref())?;
        let text = format!("{table}{} of {} seeds\n", found.finished, found.seeds);
        Ok(Measured { results: json!(found), text, claims: Vec::new() })
    })?;
    let told = |count: usize, what: &str, of: &BTreeMap<String, String>| {
        let names: Vec<_> = of.iter().map(|(run, seeds)| format!("{run}, seeds {seeds}")).collect();
        (count > 0).then(|| format!("{count} seeds {what}: {}", shown(&names, "; ")))
    };
    let missing = told(found.seeds - found.finished, "are missing", &found.missing);
    let diverged = told(found.diverged, "diverged", &found.diverged_seeds);
    tell(missing, diverged, options.check, &mut report);
    Ok(report)
}

fn tell(unfinished: Option<String>, diverged: Option<String>, check: bool, report: &mut Report) {
    report.failures.extend(unfinished);
    match diverged {
        Some(line) if check => report.failures.push(line),
        line => line.iter().for_each(|line| report.text.push_str(&format!("{line}\n"))),
    }
}

fn shown(all: &[String], between: &str) -> String {
    let more = if all.len() > NAMED { ", ..." } else { "" };
    format!("{}{more}", all[..all.len().min(NAMED)].join(between))
}

pub fn run(options: &Sweep, session: &Session) -> Result<Report, Error> {
    let plan = Plan::read(&options.plan, session.seed)?;
    if options.collect {
        return collect(options, &plan, session);
    }
    train(&plan, options.shard.unwrap_or(Shard { number: 1, of: 1 }), options, session)
}

fn train(plan: &Plan, shard: Shard, options: &Sweep, session: &Session) -> Result<Report, Error> {
    let groups = plan.groups(shard);
    let seeds: usize = groups.iter().map(|group| group.seeds.len()).sum();
    let Found { finished, diverged, in_use, failed } =
        work::train(plan, &groups, options.checkpoint_every, session)?;
    if !failed.is_empty() {
        let failed = shown(&failed, "; ");
        let reason = format!("{finished} of {seeds} seeds have finished; {failed}");
        return Err(Error::file(&session.out, reason));
    }
    let told = (!diverged.is_empty()).then(|| {
        let all: Vec<_> =
            diverged.iter().map(|(run, seed, _)| format!("{run}/seed_{seed}")).collect();
        let line = "parameters are NaN or infinite: lower learning-rate";
        format!("{} seeds diverged: {}: {line}", all.len(), shown(&all, ", "))
    });
    let unfinished = (in_use.first())
        .map(|first| format!("{} seeds are claimed on other machines: {first}", in_use.len()));
    let value =
        |(run, seed, tasks): &(String, u64, u64)| json!({ "run": run, "seed": seed, "by": tasks });
    let diverged: Vec<_> = diverged.iter().map(value).collect();
    let found =
        json!({ "seeds": seeds, "finished": finished, "diverged": diverged, "in_use": in_use });
    let mut report = Report::of("sweep", &found);
    report.text =
        format!("{finished} of {seeds} seeds have finished in {}\n", session.out.display());
    tell(unfinished, told, options.check, &mut report);
    Ok(report)
}
