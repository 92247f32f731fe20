//! Sweeps: the same bytes whatever does the shards, and nothing that is not in the plan.

use crate::common::*;
use crate::transactions::copy;
use ictd::run::lock::RunLock;
use ictd::sweep::plan::{Plan, Shard};
use std::thread::sleep;
use std::time::Duration;

/// Six settings, eight seeds.
const PLAN: &str = "seeds = 8\n\
    [settings]\ntasks = 40\nbatches = 2\nbatch-size = 16\ncontext-length = 12\nlog-every = 10\nlayers = 2\n\
    [grid]\nlearning-rate = [0.001, 0.01, 0.1]\nlayer-sharing = [\"autoregressive\", \"sequential\"]\n";
const TINY: &str =
    "[settings]\ntasks = 4\nbatches = 1\nbatch-size = 4\ncontext-length = 6\nlog-every = 2\n";

/// A plan of few tasks.
pub(crate) fn tiny(seeds: &str, grid: &str) -> Folder {
    Folder::with("plan.toml", format!("seeds = {seeds}\n{TINY}[grid]\n{grid}\n"))
}

fn sweep(place: &Path, out: &str, options: &str) -> Output {
    run(place, &format!("sweep plan.toml --out {out} {options}"))
}

/// What a sweep says that ends with exit code 0.
#[track_caller]
fn swept(place: &Path, out: &str, options: &str) -> String {
    let output = sweep(place, out, options);
    assert_eq!(code(&output), Some(0), "{options}: {output:?}");
    text(&output)
}

#[test]
fn one_process_killed_shards_and_copied_folders_give_the_same_bytes() {
    let place = &Folder::with("plan.toml", PLAN);
    swept(place, "one", "");
    let collected = swept(place, "one", "--collect --metric loss --check");
    assert!(collected.contains("\n48 of 48 seeds\n"), "{collected}");
    let mut of_sweep = files(&place.join("one/sweep"));
    of_sweep.retain(|name| name != "run.json" && name != ".lock");
    let names =
        "config.toml loss-by-learning-rate.svg records.csv results.json summary.csv sweep.csv";
    assert_eq!(of_sweep.join(" "), names);

    // Four at once, two of which are killed until they have come to their end.
    let start = |number: u64| {
        let line = format!("sweep plan.toml --checkpoint-every 0 --threads 1 --shard {number}/4");
        let mut command = with_default_signals(program(place, &format!("{line} --out four")));
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let kills = |number: u64| {
        for patience in 1.. {
            let mut child = start(number);
            if number <= 2 && patience <= 3 {
                sleep(Duration::from_millis(30 * patience));
                let _ = child.kill();
            }
            let output = child.wait_with_output().unwrap();
            match code(&output) {
                Some(0) => return patience - 1,
                code => assert!(code.is_none(), "{code:?}: {}", said(&output)),
            }
        }
        0
    };
    let killed: u64 = std::thread::scope(|scope| {
        let all = [1, 2, 3, 4].map(|number| scope.spawn(move || kills(number)));
        all.map(|thread| thread.join().unwrap()).iter().sum()
    });
    assert!(killed >= 2, "{killed} kills hit a running process");
    swept(place, "four", "--collect --metric loss --check");
    assert_same(&place.join("four"), &place.join("one"));

    // Two that share nothing.
    swept(place, "left", "--shard 1/2");
    swept(place, "right", "--shard 2/2");
    let incomplete = sweep(place, "left", "--collect --metric loss");
    assert_eq!(code(&incomplete), Some(1));
    assert!(said(&incomplete).contains("24 seeds are missing: boyan-L2-"), "{incomplete:?}");
    for side in ["left", "right"] {
        copy(&place.join(side), &place.join("both"));
    }
    swept(place, "both", "");
    swept(place, "both", "--collect --metric loss --check");
    assert_same(&place.join("both"), &place.join("one"));

    // Drawn again from the tables, and shown.
    let figure = place.join("both/sweep/loss-by-learning-rate.svg");
    let drawn = fs::read(&figure).unwrap();
    fs::remove_file(&figure).unwrap();
    object(place, 0, "plot both/sweep");
    assert!(fs::read(&figure).unwrap() == drawn);
    let whole = text(&run(place, "plot both"));
    assert!(whole.contains("no results.json"), "{whole}");
    object(place, 0, "--config both/sweep/config.toml --out one");
    object(place, 0, "report both");
}

#[test]
fn the_tables_have_the_numbers_of_the_runs() {
    let place = tiny("\"3,7\"", "loss = [\"td-error\", \"monte-carlo\"]");
    swept(&place, "out", "");
    swept(&place, "out", "--collect --metric p_bottom_right_0");
    let read = |name: &str| place.join("out").text(name);
    let sweep = read("sweep/sweep.csv");
    let head = "run,--loss,seed,tasks,alpha,loss,vd,iws,ss,msve,p_bottom_right_0,";
    assert!(sweep.starts_with(head), "{sweep}");
    assert_eq!(sweep.lines().count(), 1 + 2 * 2 * 2);
    let mut found = 0;
    for name in files(&place.join("out")) {
        let Some(folder) = name.strip_suffix("/metrics.csv") else { continue };
        let (run, seed) = folder.split_once("/seed_").unwrap();
        for row in read(&name).lines().skip(1) {
            let rows = sweep.lines().filter(|line| line.starts_with(run));
            found += rows.filter(|line| line.contains(&format!(",{seed},{row},"))).count();
        }
    }
    assert_eq!(found, 8);
    let summary = read("sweep/summary.csv");
    assert!(summary.starts_with("run,--loss,metric,seeds,mean,stderr,lower,median,upper\n"));
    // One axis, and that without numbers: each combination is a point.
    let figure = read("sweep/p_bottom_right_0-by-combination.svg");
    assert!(figure.contains("loss = td-error") && figure.contains("loss = monte-carlo"));
}

#[test]
fn seeds_are_judged_and_every_combination_is_in_the_figure() {
    let axes =
        "learning-rate = [0.001, 0.01]\ntask = [\"boyan\", \"mdp\", \"loop\"]\nlayers = [1, 2, 3]";
    let place = tiny("2", axes);
    swept(&place, "out", "");
    let said = swept(&place, "out", "--collect");
    assert!(said.contains("value_error") && said.contains("explained_td0"), "{said}");
    let read = |name: &str| place.join("out/sweep").text(name);
    let figure = read("value_error-by-learning-rate.svg");
    for task in ["boyan", "mdp", "loop"] {
        for layers in 1..=3 {
            assert!(
                figure.contains(&format!("task = {task}, layers = {layers}")),
                "{task} {layers}"
            );
        }
    }
    let records = read("records.csv");
    let head = "run,learning-rate,task,layers,seed,draw,metric,value\n";
    assert!(records.starts_with(head), "{records}");
    // 18 runs, 2 seeds, 4 draws, 7 metrics.
    assert_eq!(records.lines().count(), 1 + 18 * 2 * 4 * 7);
    // The summary has the means, and the error over seeds and draws of tasks.
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let of_first = |metric: &str, text: &str| -> Vec<Vec<String>> {
        let run = cells(records.lines().nth(1).unwrap())[0].clone();
        let rows = text.lines().map(cells).filter(|row| row[0] == run);
        rows.filter(|row| row.iter().any(|cell| cell == metric)).collect()
    };
    let values: Vec<f64> =
        of_first("value_error", &records).iter().map(|row| row[7].parse().unwrap()).collect();
    assert_eq!(values.len(), 8);
    let row = &of_first("value_error", &read("summary.csv"))[0];
    let [mean, stderr] = [6, 7].map(|at| row[at].parse::<f64>().unwrap());
    assert!((mean - values.iter().sum::<f64>() / 8.0).abs() < 1e-12, "{row:?}");
    let of = |at: &dyn Fn(usize) -> usize, groups: usize| {
        let mut means = vec![0.0; groups];
        values.iter().enumerate().for_each(|(i, x)| means[at(i)] += x * groups as f64 / 8.0);
        let squares = means.iter().map(|x| (x - mean) * (x - mean));
        squares.sum::<f64>() / (groups as f64 - 1.0) / groups as f64
    };
    let expected = (of(&|i| i / 4, 2) + of(&|i| i % 4, 4)).sqrt();
    assert!((stderr - expected).abs() < 1e-12, "{stderr} {expected}");
    // Each judgement can be shown.
    swept(&place, "out", "--collect --metric iws_judged");
    assert!(place.join("out/sweep/iws_judged-by-learning-rate.svg").exists());
}

#[test]
fn a_plan_that_is_refused_is_named_with_the_key_and_nothing_is_written() {
    let grid = |text: &str| format!("seeds = 1\n[grid]\n{text}\n");
    let many =
        format!("learning-rate = [{}]\n", (1..200).map(|i| format!("{i}.5, ")).collect::<String>());
    let both = many.clone() + &many.replace("learning-rate", "gain");
    let either = "grid: learning-rate: it is in settings, too";
    let settings = |text: &str| format!("seeds = 1\n[settings]\n{text}\n");
    for (plan, words) in [
        ("seeds = \n".into(), "line 1: "),
        ("[settings]\nlayers = 1\n".into(), "seeds: expected a number, or text"),
        ("seeds = 0\n".into(), "seeds: expected an integer from 1"),
        ("seeds = [1]\n".into(), "seeds: expected a number, or text"),
        ("seeds = \"3..1\"\n".into(), "seeds: expected at most"),
        ("[settings]\nlearning-rate = 0\n".into(), "settings: learning-rate 0: expected"),
        ("seeds = 1\ntasks = 5\n".into(), "tasks: expected seeds, settings and grid"),
        ("seeds = 1\nsettings = 3\n".into(), "settings: expected a table"),
        (settings("layer = 3"), "(did you mean `layers`?)"),
        (settings("seeds = 3"), "settings: seeds is not a setting"),
        (settings("layers = 0"), "settings: layers 0: expected an integer from 1"),
        (settings("layers = 1.5"), "settings: layers 1.5: expected an integer"),
        (settings("layer-sharing = \"x\""), "settings: layer-sharing x: expected one of autor"),
        (settings("learning-rate = [1]"), "settings: learning-rate: expected a string or a number"),
        (settings("network = \"rnn\"\nlayers = 5"), "the run: --layers: 5: expected 3 here"),
        ("seeds = 1\ngrid = 3\n".into(), "grid: expected a table"),
        (grid("learning-rate = 0.1"), "grid: learning-rate: expected a list of values"),
        (grid("learning-rate = []"), "expected 1 to 10000 runs"),
        (grid("learning-rate = [0.1, 0.0]"), "grid: learning-rate 0: expected a number in (0,"),
        (grid("learning-rate = [0.1, nan]"), "grid: learning-rate NaN: expected a number in"),
        (grid("learning-rate = [0.1, 0.1]"), "learning-rate = 0.1: the recipe of learning-rate"),
        (grid("learning-rate = [0.1, \"1e-1\"]"), "expected each recipe once"),
        (grid("learning-rate = [0.1]\n[settings]\nlearning-rate = 0.2"), either),
        (grid(&both), "expected 1 to 10000 runs"),
        (format!("seeds = 100000\n[grid]\n{many}"), "1000000 seeds of all runs"),
    ] {
        let place = Folder::with("plan.toml", &plan);
        for options in ["", "--collect", "--shard 1/2"] {
            let line = refusal(&sweep(&place, "out", options));
            assert!(line.contains("plan.toml: ") && line.contains(words), "{plan}: {line}");
            assert!(!place.join("out").exists(), "{plan}");
        }
    }
    let place = Folder::with("plan.toml", "seeds = 1\n");
    for (options, words) in [
        ("--shard 0/2", "--shard 0/2: expected I/N with I from 1 to N"),
        ("--shard 3/2", "--shard 3/2: expected"),
        ("--shard 1", "--shard 1: expected"),
        ("--collect --shard 1/2", "cannot be used with"),
        ("--metric vd", "--collect"),
        ("--collect --metric width", "--metric width: expected one of alpha, loss, vd"),
        ("--collect", "no seed of the plan has finished here"),
    ] {
        let line = refusal(&sweep(&place, "out", options));
        assert!(line.contains(words), "{options}: {line}");
        assert!(!place.join("out").exists(), "{options}");
    }
    let line = refused(&place, "sweep /nowhere.toml");
    assert!(line.contains("/nowhere.toml: No such file"), "{line}");
}

#[test]
fn shards_of_any_number_do_every_seed_once() {
    let text = format!(
        "seeds = 40\n{TINY}[grid]\nlearning-rate = [0.1, 0.2]\nlayer-sharing = [\"autoregressive\", \"sequential\"]\n"
    );
    let plan = Plan::of_text(&text, 5).unwrap();
    assert_eq!(plan.runs[1].values, ["0.1", "sequential"]);
    assert_eq!([plan.seeds[0], plan.seeds[39]], [5, 44]);
    let key = |run: &str, seed: u64| (run.to_owned(), seed);
    let all: Vec<_> =
        plan.runs.iter().flat_map(|run| plan.seeds.iter().map(|s| key(&run.folder, *s))).collect();
    for of in [1, 2, 3, 4, 7, 12, 13, 64, 160, 161, 1000] {
        let mut done = Vec::new();
        for number in 1..=of {
            let groups = plan.groups(Shard { number, of });
            assert!(groups.len() <= 12_usize.max(of).div_ceil(of) + 1, "{number}/{of}");
            assert!(of < 160 || groups.iter().all(|group| group.seeds.len() == 1));
            for group in groups {
                assert!(group.seeds.len() <= 16);
                done.extend(group.seeds.iter().map(|seed| key(&group.run.folder, *seed)));
            }
        }
        let mut wanted = all.clone();
        done.sort();
        wanted.sort();
        assert_eq!(done, wanted, "{of}");
    }
}

#[test]
fn seeds_of_others_are_waited_for_here_and_told_elsewhere() {
    let place = tiny("4", "");
    swept(&place, "out", "--shard 1/4");
    let run = trained(&place.join("out"));
    for seed in [1, 2] {
        fs::create_dir(run.join(format!("seed_{seed}"))).unwrap();
    }
    run.put("seed_2/.lock", "ictd\nprocess 4711 on node-17\n");
    let ours = RunLock::acquire(&run.join("seed_1")).unwrap();
    let collected = sweep(&place, "out", "--collect");
    assert_eq!(collected.status.code(), Some(1));
    assert!(said(&collected).contains("3 seeds are missing"), "{collected:?}");
    let mut waiting = program(&place, "sweep plan.toml --out out --json");
    let waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !run.join("seed_3/metrics.csv").exists() {
        sleep(Duration::from_millis(20));
    }
    assert!(!run.join("seed_1/metrics.csv").exists());
    drop(ours);
    let done = waiting.wait_with_output().unwrap();
    let found = json(&done);
    assert_eq!((done.status.code(), found["finished"].as_u64()), (Some(1), Some(3)), "{found}");
    assert!(found["in_use"][0].as_str().unwrap().contains("process 4711 on node-17"), "{found}");
    assert!(run.join("seed_1/metrics.csv").exists());
    fs::remove_file(run.join("seed_2/.lock")).unwrap();
    swept(&place, "out", "--check");
}

#[test]
fn a_seed_that_diverges_is_told_and_a_damaged_one_stops_no_other() {
    let place = tiny("2", "learning-rate = [0.1, 1000.0]");
    let found = swept(&place, "out", "");
    assert!(found.contains("4 of 4") && found.contains("seeds diverged: boyan-"), "{found}");
    assert_eq!(sweep(&place, "out", "--check").status.code(), Some(1));
    let collected = swept(&place, "out", "--collect --metric loss");
    assert!(collected.contains("seeds diverged: boyan-"), "{collected}");
    assert_eq!(sweep(&place, "out", "--collect --check").status.code(), Some(1));

    let other = tiny("2", "learning-rate = [0.1, 0.2, 0.3]");
    swept(&other, "out", "--shard 1/3");
    let damaged = trained(&other.join("out")).join("seed_0/checkpoint.bin");
    let intact = fs::read(&damaged).unwrap();
    fs::write(&damaged, "ictdseed").unwrap();
    let line = refusal(&sweep(&other, "out", ""));
    let parts = ["4 of 6 seeds have finished; ", "checkpoint.bin: "];
    assert!(parts.iter().all(|part| line.contains(part)), "{line}");
    fs::write(&damaged, intact).unwrap();
    swept(&other, "out", "--check");
}
