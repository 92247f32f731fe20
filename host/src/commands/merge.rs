//! `ictd merge`: joins training runs from several folders in one.

use super::train_run::summarise;
use crate::error::{Error, InFile as _};
use crate::files::{self, Kind};
use crate::model_file::seed_folder;
use crate::run::config::FolderEntry;
use crate::run::{Report, RunManifest, Session, config, info, progress, records};
use crate::train::checkpoint::Checkpoint;
use crate::train::directory::{CONFIG, RESULTS, read_run};
use crate::train::options::folder_of;
use crate::train::{SeedRun, Seeds, TrainDirectory};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};
use std::path::{Path, PathBuf};

/// Join training runs and sweeps that were computed apart: their seeds, each in the folder of its recipe in --out
///
/// A DIR is a training run, or a folder with several, such as the --out of `ictd train` and `ictd sweep`. Everything in
/// --out stays. If a seed is in several places, the copy trained furthest is used; if two disagree on what both have, or a
/// folder is not what its name and recipe say, the command refuses before anything is written.
///
/// The command names what it leaves out: folders that are not training runs, and seeds without a checkpoint. It refuses
/// links, and what it cannot read.
///
/// Only checkpoints are copied. All other files are written from them, so that --out has the bytes of one run with all
/// seeds. The files about all seeds of a run (results.json, figures) are written if one of the DIRs has them. The same
/// command again changes nothing, and continues after an interruption.
#[derive(Clone, Debug, clap::Args)]
pub struct Merge {
    /// Runs, or folders that hold runs
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<PathBuf>,
}

struct MergedRun {
    /// The destination comes first.
    places: Vec<TrainDirectory>,
    /// The seeds of the runs, whether they have begun or not.
    seeds: BTreeSet<u64>,
    /// The seeds that are copied, each with the index of its place.
    taken: Vec<(u64, usize)>,
}

pub fn run(options: &Merge, session: &Session) -> Result<Report, Error> {
    let mut found = BTreeMap::<String, MergedRun>::new();
    let mut left_out = Vec::new();
    for directory in &options.directories {
        for place in runs(directory, &mut left_out)? {
            put(&mut found, place, &session.out)?;
        }
    }
    // Every checkpoint is read before anything is written.
    for (folder, joined) in &mut found {
        let without = Seeds::List(joined.choose()?);
        if without.count() > 0 {
            left_out.push(format!("{folder}, seeds {without}: no checkpoint"));
        }
    }
    for joined in found.values() {
        joined.write(session)?;
    }
    let taken: usize = found.values().map(|joined| joined.taken.len()).sum();
    let results = json!({ "runs": found.keys().collect::<Vec<_>>(), "seeds": taken });
    let mut report = Report::of("merge", &results);
    let (runs, out) = (found.len(), session.out.display());
    report.text = format!("{taken} seeds of {runs} runs were added to {out}\n");
    report.left_out(left_out);
    Ok(report)
}

/// Returns the directory itself if it is a training run's, else those in it.
fn runs(directory: &Path, left_out: &mut Vec<String>) -> Result<Vec<PathBuf>, Error> {
    let inside = config::inside(directory)?;
    let own = directory.join(CONFIG);
    if files::is_there(&own, Kind::File).in_file(&own)? && config::command_of(directory)? == "train"
    {
        return Ok(vec![directory.to_owned()]);
    }
    let mut runs = Vec::new();
    for FolderEntry { path, command, .. } in inside {
        match command.in_file(&path)?.as_deref() {
            Some("train") => runs.push(path),
            Some(other) => left_out.push(format!("{}: a run of `{other}`", path.display())),
            None => left_out.push(format!("{}: no run", path.display())),
        }
    }
    if runs.is_empty() {
        let reason = "holds no training run; expected the --out of `ictd train` or `ictd sweep`";
        return Err(Error::file(directory, reason));
    }
    Ok(runs)
}

fn put(found: &mut BTreeMap<String, MergedRun>, place: PathBuf, out: &Path) -> Result<(), Error> {
    let (first, options) = read_run(&place)?;
    options.check(first).map_err(|e| Error::file(&place.join(CONFIG), e))?;
    let (seeds, recipe) = (options.seed_set(first), options.recipe);
    let joined = match found.entry(folder_of(&recipe)?) {
        Entry::Occupied(there) => there.into_mut(),
        Entry::Vacant(new) => {
            let whole = TrainDirectory::at(records::place(out, new.key())?, &recipe)?;
            let seeds = whole.planned()?;
            new.insert(MergedRun { places: vec![whole], seeds, taken: vec![] })
        }
    };
    joined.seeds.extend(seeds);
    joined.places.push(TrainDirectory::at(place, &recipe)?);
    Ok(())
}

impl MergedRun {
    /// Chooses the place of each seed, and returns the seeds without a checkpoint.
    fn choose(&mut self) -> Result<BTreeSet<u64>, Error> {
        let mut all = BTreeMap::<u64, Vec<usize>>::new();
        for (number, place) in self.places.iter().enumerate() {
            let there = files::is_folder(&place.path).then(|| place.seeds()).transpose()?;
            there.into_iter().flatten().for_each(|seed| all.entry(seed).or_default().push(number));
        }
        let without = self.seeds.iter().copied().filter(|seed| !all.contains_key(seed)).collect();
        let mut finished = 0_usize;
        for (seed, places) in all {
            let mut furthest: Option<(usize, Checkpoint)> = None;
            for number in places {
                progress::check()?;
                let Some(found) = self.places[number].load(seed)? else { continue };
                let before = furthest.as_ref();
                if let Some((other, _)) = before.filter(|(_, before)| !agree(before, &found)) {
                    let [other, path] =
                        [*other, number].map(|at| seed_folder(&self.places[at].path, seed));
                    let other = other.display();
                    let reason = format!("other numbers than in {other}; expected equal ones");
                    return Err(Error::file(&path, reason));
                }
                if before.is_none_or(|(_, before)| before.tasks_done < found.tasks_done) {
                    furthest = Some((number, found));
                }
            }
            let Some((number, found)) = furthest else { continue };
            let is_finished = self.places[0].has_ended(&found);
            finished += usize::from(is_finished);
            // A process that was killed may have left a finished seed without its records.
            let is_half = is_finished && !self.places[0].is_recorded(seed);
            if number > 0 || is_half {
                self.taken.push((seed, number));
            }
        }
        match self.places.iter().find(|place| is_said(place)) {
            Some(place) if finished == 0 => {
                let reason =
                    "says what was found, and no seed has finished; expected it with its seeds";
                Err(Error::file(&place.path.join(RESULTS), reason))
            }
            _ => Ok(without),
        }
    }

    fn write(&self, session: &Session) -> Result<(), Error> {
        let Some(whole) = self.places.first() else { return Ok(()) };
        let says_all = self.places.iter().any(is_said);
        let is_said_here = is_said(whole) && info::is_finished(&whole.path);
        let is_news = !self.taken.is_empty() || says_all && !is_said_here;
        if !is_news && whole.planned()? == self.seeds {
            return Ok(());
        }
        let out = TrainDirectory::open(whole.path.clone(), &whole.recipe, &self.seeds)?;
        let begun = says_all.then(|| RunManifest::new("train", session));
        if let Some(begun) = &begun {
            let _claimed = out.claim()?;
            begun.write(&out.path, None)?;
        }
        for (seed, number) in &self.taken {
            progress::check()?;
            let _claim = out.claim_seed(*seed)?;
            if let Some(found) = self.places[*number].load(*seed)? {
                let found = Checkpoint { config: out.name.clone(), ..found };
                out.save(&found)?;
                if whole.has_ended(&found) {
                    out.finish(&found.run)?;
                }
            }
        }
        if begun.is_some() {
            summarise(&out, begun)?;
        }
        Ok(())
    }
}

/// Returns true if a run has the files about all of its seeds.
fn is_said(place: &TrainDirectory) -> bool {
    files::kind(&place.path.join(RESULTS)) == Kind::File
}

/// Returns true if two states of a seed may be of one run: equal, or one later than the other with the same log up to then.
fn agree(a: &Checkpoint, b: &Checkpoint) -> bool {
    if a.tasks_done == b.tasks_done {
        // Compare bytes, where NaN equals itself.
        let bytes = |c: &Checkpoint| Checkpoint { config: String::new(), ..c.clone() }.to_bytes();
        return bytes(a) == bytes(b);
    }
    let count = a.run.points.len().min(b.run.points.len());
    let log = |c: &Checkpoint| {
        let points = c.run.points[..count].to_vec();
        let run =
            SeedRun { digest: String::new(), parameters: Vec::new(), points, ..c.run.clone() };
        Checkpoint { config: String::new(), tasks_done: 0, record: Vec::new(), run }.to_bytes()
    };
    log(a) == log(b)
}
