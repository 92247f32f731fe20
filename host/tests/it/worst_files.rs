//! Every command on files of at most 1 MB that ask for as much as they can: it stays below 512 MiB and 10 s of a
//! processor, and ends with a documented exit code ([`measured`]).
//!
//! `ICTD_WORST=all cargo test -p host --test it worst_files -- --nocapture` tries every command on every file and
//! prints what each took (default: each file with one command).

use crate::bounds::measured;
use crate::common::*;
use crate::transactions::DATA;
use crate::untrusted::{TRAIN, npy, npz};
use ictd::cli::command::clap_command;
use ictd::experiments::ALL;

/// The bytes of a hostile file.
const MEGABYTE: usize = 1_000_000;

/// Commands that read no file but a config, or their own state of at most a megabyte, beside the experiments.
const WITHOUT_FILES: [&str; 6] = ["completions", "verify", "reproduce", "list", "digest", "search"];

/// The commands that take a table, and below those for a model, an archive of transitions, a config; the file's name follows.
const OF_TABLES: &str = "predict; evaluate --data; evaluate --layers 65535 --data; \
    evaluate --layers 1000 --trace-decay 0.9 --data; evaluate --model universal --data; \
    evaluate --data data.csv --queries; predict --gamma 0.9999; \
    predict --dim 16 --model deep.ictd";
const OF_MODELS: &str = "evaluate --data data.csv --model; inspect; \
    predict data.csv --model; export --out exported; demo --tasks 2 --model; \
    evaluate --data rows.csv --model; \
    evaluate --data features.csv --model; predict rows.csv --model; evaluate --data; \
    train --tasks 1 --out . --task";
const OF_CONFIGS: &str = "--config; train --config; predict --config; sweep --collect";
/// The run's name in the place of RUN.
const OF_RUNS: &str = "report RUN; plot RUN; report .; \
    --config RUN/config.toml --out .; train --resume RUN; \
    export RUN --out exported; demo --tasks 2 --model RUN --out .; demo --tasks 2 --out .";

/// What was tried so far; `--nocapture` shows what each command took.
#[derive(Default)]
struct Tried(usize);

impl Tried {
    /// The commands that are tried on the next file: all, or the one whose turn it is.
    fn next<'a>(&self, commands: &'a str) -> Vec<&'a str> {
        let all = std::env::var("ICTD_WORST").is_ok_and(|x| x == "all");
        let commands: Vec<_> = commands.split("; ").collect();
        if all { commands } else { vec![commands[self.0 % commands.len()]] }
    }

    fn run(&mut self, at: &Path, command: &str, file: &str) {
        let (_, (memory, seconds)) = measured(at, command);
        println!("{command} ({file}): {} MiB, {seconds:.1} s", memory >> 10);
        self.0 += 1;
    }
}

fn many(text: &str) -> String {
    text.repeat(MEGABYTE / text.len())
}

/// A head, and a row as often as there is room for.
fn table(head: &str, row: &str) -> String {
    format!("{head}\n{}", row.repeat((MEGABYTE - head.len() - 1) / row.len()))
}

fn columns(count: usize, name: &str) -> String {
    (0..count).map(|i| format!("{name}{i}")).collect::<Vec<_>>().join(",")
}

fn row(count: usize) -> String {
    format!("{}\n", vec!["1"; count].join(","))
}

/// Tables of transitions and of signals.
fn tables() -> Vec<(&'static str, String)> {
    vec![
        ("rows.csv", table("phi_0,reward", "0,1\n1,2\n")),
        ("signals.csv", table("a,b", "0,1\n1,2\n")),
        ("features.csv", table(&format!("{},reward", columns(32, "phi_")), &row(33))),
        ("all_features.csv", table(&format!("{},reward", columns(64, "phi_")), &row(65))),
        ("wide.csv", format!("{}\n{}", columns(70_000, "c"), row(70_000).repeat(2))),
        ("columns.csv", table(&columns(2000, "c"), &row(2000))),
        ("some_columns.csv", table(&columns(300, "c"), &row(300))),
        ("episodes.csv", table("phi_0,reward,terminal,end", "0,1,1,0\n1,1,0,1\n")),
        ("empty_lines.csv", table("phi_0,reward\n1,1", "\n")),
        ("comments.csv", table("phi_0,reward\n1,1", "#\n")),
        ("one_line.csv", many("1,")),
        ("quotes.csv", table("phi_0,reward", "\"\"\"\",1\n")),
        ("open_quote.csv", format!("phi_0,\"{}", many("a\n"))),
        ("digits.csv", format!("phi_0,reward\n1,{}\n", "1".repeat(MEGABYTE - 100))),
        ("nul.csv", many("\0")),
        ("long_name.csv", format!("{},b\n{}", many("a"), "1,2\n".repeat(10_000))),
    ]
}

/// P and Q of so many layers, for K and a depth that the file says.
fn tensors(count: usize, k: usize, depth: &str) -> Vec<u8> {
    let metadata = [("L", depth), ("gamma", "0.9"), ("attention", "linear"), ("n", "30")];
    let matrix = |i: usize| {
        let matrix = ["P", "Q"][i % 2];
        let name = if count == 1 { matrix.into() } else { format!("layers.{}.{matrix}", i / 2) };
        (name, (0..k * k).map(|i| 1e-3 / (1 + i % 7) as f32).collect())
    };
    safetensors(&(0..2 * count).map(matrix).collect::<Vec<_>>(), &metadata)
}

/// Models, logs and transitions.
fn models() -> Vec<(&'static str, Vec<u8>)> {
    let deep = |open: &str| {
        let header = many(open);
        [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat()
    };
    let huge = |shape: &str| npz(&["P", "Q"].map(|name| (name, npy("<f8", shape, &[0; 800]))));
    let zeros = |dtype: &str, shape: &str, bytes: usize| npy(dtype, shape, &vec![0; bytes]);
    let log = |points: usize, k: usize| {
        let shape = format!("({points}, 1, {k}, {k})");
        npz(&["P", "Q"].map(|name| (name, zeros("<f4", &shape, 4 * points * k * k))))
    };
    let transitions = |rows: usize, d: usize| {
        let phi = zeros("|i1", &format!("({rows}, {d})"), rows * d);
        npz(&[("phi", phi), ("reward", zeros("|i1", &format!("({rows},)"), rows))])
    };
    let names: Vec<_> = (0..9000).map(|i| format!("a{i}")).collect();
    let arrays: Vec<_> = names.iter().map(|name| (name.as_str(), Vec::new())).collect();
    let exports = Folder::new();
    let model = exports.join("deep.ictd");
    // As many layers as its header can say.
    let exported = ictd(&model, "export --construction td0 --dim 16 --layers 65535");
    assert_eq!(exported.status.code(), Some(0), "{exported:?}");
    vec![
        ("deep.ictd", fs::read(&model).unwrap()),
        ("deep_65.safetensors", tensors(1, 65, "65535")),
        ("deep_33.safetensors", tensors(1, 33, "65535")),
        ("deep_3.safetensors", tensors(1, 3, "65535")),
        ("layers_3.safetensors", tensors(3000, 3, "3000")),
        ("layers_65.safetensors", tensors(16, 65, "16")),
        ("nested.safetensors", deep("[")),
        ("named.safetensors", deep("{\"a\":")),
        ("header.safetensors", u64::MAX.to_le_bytes().to_vec()),
        ("huge.npz", huge("(1000000000000, 1, 9, 9)")),
        ("overflow.npz", huge("(4611686018427387904, 4, 9, 9)")),
        ("negative.npz", huge("(-1, 1, 9, 9)")),
        ("dimensions.npz", huge(&format!("({})", "1,".repeat(30_000)))),
        ("log.npz", log(200_000, 3)),
        ("log_65.npz", log(450, 65)),
        ("inflates.npz", transitions(100 << 20, 1)),
        ("transitions.npz", transitions(2_000_000, 1)),
        ("transitions_32.npz", transitions(120_000, 32)),
        ("names.npz", npz(&arrays[..6000])),
        ("stored.ictd", [b"ICTD".as_slice(), &[0xff; 900_000]].concat()),
    ]
}

fn configs() -> Vec<(&'static str, String)> {
    let gammas: Vec<_> = (0..100_000).map(|i| format!("0.{i:05}")).collect();
    let predict = |file: &str, count: usize| {
        format!("command=\"predict\"\nfile=\"{file}\"\ngamma=[{}]\n", gammas[..count].join(","))
    };
    let list = |count: usize| (1..=count).map(|i| format!("{i}.5,")).collect::<String>();
    let integers = |count: usize| (1..=count).map(|i| format!("{i},")).collect::<String>();
    let grid = |seeds: usize, rates: usize, rest: &str| {
        format!("seeds = {seeds}\n[grid]\nlearning-rate = [{}]\n{rest}", list(rates))
    };
    vec![
        ("nested.toml", format!("a={}", many("["))),
        ("tables.toml", format!("{}=1", many("a."))),
        ("brackets.toml", many("[[a]]\n")),
        ("keys.toml", (0..60_000).map(|i| format!("k{i}=1\n")).collect()),
        ("gammas.toml", predict("rows.csv", 100_000)),
        ("columns.toml", predict("columns.csv", 100)),
        ("string.toml", format!("command=\"demo\"\ntask=\"{}\"\n", many("x"))),
        ("plan_of_seeds.toml", grid(100_000, 10, "")),
        ("plan_of_runs.toml", grid(1, 999, &format!("layers = [{}]", integers(10)))),
        ("plan_of_more_runs.toml", grid(1, 999, &format!("gain = [{}]", list(999)))),
        ("plan_of_values.toml", grid(1, 100_000, "")),
        ("list_of_seeds.toml", format!("seeds = [{}]\n", integers(150_000))),
        ("text_of_seeds.toml", format!("seeds = \"{}\"\n", integers(150_000))),
        ("plan_of_tasks.toml", format!("seeds = 1\n[settings]\ntask = \"{}\"", many("boyan,"))),
    ]
}

#[test]
fn a_file_of_a_megabyte_costs_any_command_little() {
    let out = Folder::with("data.csv", DATA);
    let (tables, models, configs) = (tables(), models(), configs());
    let bytes = |(name, text): &(&'static str, String)| (*name, text.clone().into_bytes());
    let kinds = [
        (tables.iter().map(bytes).collect(), OF_TABLES),
        (models, OF_MODELS),
        (configs.iter().map(bytes).collect::<Vec<_>>(), OF_CONFIGS),
    ];
    for (name, bytes) in kinds.iter().flat_map(|(files, _)| files) {
        assert!(bytes.len() <= 1 << 20, "{name}: {}", bytes.len());
        out.put(name, bytes);
    }
    let mut tried = Tried::default();
    for (files, commands) in &kinds {
        for (name, _) in files {
            for command in tried.next(commands) {
                tried.run(&out, &format!("{command} {name}"), name);
            }
        }
    }
}

/// Returns what a run directory may be given in the place of its own files.
fn contents() -> Vec<(&'static str, String)> {
    let names: String = (0..30_000).map(|i| format!("\"name {i}\":\"0\",")).collect();
    let claims = many("{\"claim\":\"\",\"paper\":\"\",\"measured\":\"\",\"verdict\":\"holds\"},");
    let seeds = many("{\"seed\":1,\"a\":1,\"b\":2,\"c\":[1,2,3]},");
    let lists: String = (0..900).map(|i| format!("\"l{i}\":[{}],", ["1"; 400].join(","))).collect();
    let cut = |text: &str| text.trim_end_matches(',').to_owned();
    let results = |rest: &str| format!("{{\"command\":\"demo\",{}}}", cut(rest));
    vec![
        ("results.json", many("[")),
        ("results.json", many("{\"a\":")),
        ("results.json", results(&format!("\"claims\":[{}]", cut(&claims)))),
        ("results.json", results(&format!("\"x\":[{}]", cut(&seeds)))),
        ("results.json", results(&lists)),
        ("results.json", results(&format!("\"config\":{{{}}}", cut(&names)))),
        ("results.json", results(&format!("\"x\":[{}]", cut(&many("1,"))))),
        ("results.json", results(&format!("\"x\":\"{}\"", many("<")))),
        ("run.json", many("[")),
        ("run.json", format!("{{\"digests\":{{\"files\":{{{}}}}}}}", cut(&names))),
        ("run.json", format!("{{\"outcome\":[{}]}}", cut(&many("1,")))),
        ("config.toml", format!("command = \"demo\"\na = {}", many("["))),
        ("config.toml", format!("command = \"train\"\n{}=1", many("a."))),
        (".lock", many("ictd\n")),
        (".ictd-commit", many("remove a\n")),
        (".ictd-commit", many("put a\n")),
        ("seed_0/checkpoint.bin", many("\0")),
        ("seed_0/metrics.csv", many("1,")),
    ]
}

/// A record of at most 1 MB whose last row is repeated: as it is, and with each number or text replaced by what
/// asks for most.
fn grown(record: &str) -> Vec<String> {
    let (head, rows) = record.split_once('\n').unwrap();
    let (first, last) = (rows.lines().next().unwrap(), rows.lines().last().unwrap());
    let of = |cell: &dyn Fn(usize, &str) -> String| {
        let mut text = format!("{head}\n{first}\n");
        for i in 0.. {
            let row = last.split(',').map(|old| cell(i, old)).collect::<Vec<_>>().join(",");
            if text.len() + row.len() >= MEGABYTE {
                break;
            }
            text.push_str(&row);
            text.push('\n');
        }
        text
    };
    let is_integer = |cell: &str| cell.parse::<i64>().is_ok();
    let is_number = |cell: &str| cell.is_empty() || cell.parse::<f64>().is_ok();
    vec![
        of(&|_, old| old.to_owned()),
        of(&|i, old| if is_number(old) { old.to_owned() } else { format!("{old}{i}") }),
        of(&|i, old| if is_integer(old) { i.to_string() } else { old.to_owned() }),
        of(&|i, old| if is_integer(old) { (i << 32).to_string() } else { old.to_owned() }),
        of(&|i, old| {
            if is_integer(old) || !is_number(old) { old.into() } else { format!("{i}e300") }
        }),
    ]
}

#[test]
fn a_run_directory_with_a_file_of_a_megabyte_costs_any_command_little() {
    let out = Folder::new();
    let at = |name: &str| out.join(name);
    let line = |i: u32| format!("{},{},{}\n", i % 3, i % 5, i % 2);
    out.put("data.csv", format!("phi_0,phi_1,reward\n{}", (0..100).map(line).collect::<String>()));
    ictd(&out, TRAIN);
    as_train(&out);
    for command in [
        "demo --tasks 2",
        "verify --seeds 2 --layers 2",
        "evaluate --data data.csv",
        "predict data.csv --gamma 0.5",
        "reproduce figure-2 --seeds 1 --tasks 2",
        "one-layer --seeds 1 --tasks 2",
    ] {
        let made = run(&out, &format!("{command} --out ."));
        assert!(code(&made) < Some(2), "{command}: {made:?}");
    }
    let mut cases = Vec::new();
    for (name, content) in contents() {
        let runs = if name.starts_with("seed_0") { &["train"][..] } else { &["train", "demo"] };
        cases.extend(runs.iter().map(|run| (format!("{run}/{name}"), content.clone())));
    }
    for record in files(&out).into_iter().filter(|name| name.ends_with(".csv")) {
        if record.matches('/').count() == 1 {
            let intact = fs::read_to_string(at(&record)).unwrap();
            cases.extend(grown(&intact).into_iter().map(|content| (record.clone(), content)));
        }
    }
    let mut tried = Tried::default();
    for (name, content) in cases {
        let intact = fs::read(at(&name));
        let run = name.split('/').next().unwrap();
        for command in tried.next(OF_RUNS) {
            // Each finds the file as it was given.
            fs::write(at(&name), &content).unwrap();
            tried.run(&out, &command.replace("RUN", run), &name);
        }
        match intact {
            Ok(intact) => fs::write(at(&name), intact).unwrap(),
            Err(_) => drop(fs::remove_file(at(&name))),
        }
    }
}

#[test]
fn a_sparse_file_of_three_gibibytes_costs_any_command_little() {
    let out = Folder::with("data.csv", DATA);
    let at = |name: &str| out.join(name);
    let mut tried = Tried::default();
    let mut run = |command: &str, name: &str| {
        fs::File::create(at(name)).unwrap().set_len(3 << 30).unwrap();
        tried.run(&out, command, name);
    };
    let models = ["x.npz", "x.safetensors", "x.ictd"].map(|name| (name, OF_MODELS));
    for (name, commands) in [("x.csv", OF_TABLES), ("x.toml", OF_CONFIGS)].into_iter().chain(models)
    {
        commands.split("; ").for_each(|command| run(&format!("{command} {name}"), name));
        fs::remove_file(at(name)).unwrap();
    }
    ictd(&out, &format!("{TRAIN} --seeds 2"));
    as_train(&out);
    ictd(&out, "demo --tasks 2");
    let of_runs = files(&out).into_iter().filter(|name| name.contains('/'));
    for (turn, name) in of_runs.enumerate() {
        let intact = fs::read(at(&name)).unwrap();
        let folder = name.split('/').next().unwrap();
        let other = OF_RUNS.split("; ").cycle().nth(turn);
        for command in ["report RUN"].into_iter().chain(other) {
            run(&command.replace("RUN", folder), &name);
        }
        fs::write(at(&name), intact).unwrap();
    }
}

#[test]
fn every_command_that_reads_files_is_tried() {
    let tried = [OF_TABLES, OF_MODELS, OF_CONFIGS, OF_RUNS].join("; ");
    let is_experiment = |id: &str| id != "demo" && ALL.iter().any(|entry| entry.id == id);
    let root = clap_command();
    for command in root.get_subcommands().map(clap::Command::get_name) {
        let is_tried = tried.split("; ").any(|line| line.split(' ').next() == Some(command));
        let is_without = WITHOUT_FILES.contains(&command) || is_experiment(command);
        assert!(is_tried != is_without, "{command}");
    }
}
