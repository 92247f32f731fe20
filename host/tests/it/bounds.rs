//! What a command costs has bounds: memory, time, threads, the size of a file.

use crate::common::*;
use std::io::Read;
use std::time::{Duration, Instant};

/// The most that a command may take of a file of at most 1 MB: memory in KiB, seconds of a processor.
const MEMORY: u64 = 512 << 10;
const SECONDS: f64 = 10.0;

/// What a process has used so far, while it runs: its largest memory in KiB, and seconds of a processor.
#[cfg(target_os = "linux")]
fn used(process: u32) -> Option<(u64, f64)> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // After the name in brackets, which may hold spaces: user and system ticks, of a hundredth.
    let (_, rest) = stat.rsplit_once(')')?;
    let ticks = rest.split_whitespace().skip(11).take(2).map(|x| x.parse::<f64>());
    let seconds = ticks.sum::<Result<f64, _>>().ok()? / 100.0;
    Some((peak.split_whitespace().next()?.parse().ok()?, seconds))
}

#[cfg(not(target_os = "linux"))]
fn used(_process: u32) -> Option<(u64, f64)> {
    None
}

/// A command that takes no more than [`MEMORY`] and [`SECONDS`], whatever else the machine does.
pub(crate) fn bounded(out: &Path, arguments: &str) -> Output {
    measured(out, arguments).0
}

/// As [`bounded`], with what it took: KiB, and seconds of a processor.
pub(crate) fn measured(out: &Path, arguments: &str) -> (Output, (u64, f64)) {
    let mut child =
        program(out, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let reader = |mut from: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut all = Vec::new();
            from.read_to_end(&mut all).map(|_| all).unwrap_or_default()
        })
    };
    let readers = [reader(Box::new(stdout)), reader(Box::new(stderr))];
    let started = Instant::now();
    let mut most = (0, 0.0);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        most = used(child.id()).unwrap_or(most);
        let is_too_much = most.0 > MEMORY || most.1 > SECONDS;
        if is_too_much || started.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{arguments}: {} KiB, {} s of a processor", most.0, most.1);
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let [stdout, stderr] = readers.map(|reader| reader.join().unwrap());
    let output = Output { status, stdout, stderr };
    let errors = String::from_utf8_lossy(&output.stderr).matches("error: ").count();
    let is_ended = code(&output).is_some_and(|code| code < 2 || code == 2 && errors == 1);
    assert!(is_ended, "{arguments}: {output:?}");
    (output, most)
}

/// A command as a shell runs it; `ictd` is the program.
#[cfg(unix)]
pub(crate) fn shell(out: &Path, line: &str) -> Output {
    let line = line.replace("ictd", &format!("'{}'", env!("CARGO_BIN_EXE_ictd")));
    Command::new("sh").args(["-c", &line]).current_dir(out).output().unwrap()
}

/// So many rows of a signal, below this head.
fn signal(head: &str, rows: u32) -> String {
    let row = |i: u32| format!("{},{}\n", i % 7, i * i % 11);
    format!("{head}\n{}", (0..rows).map(row).collect::<String>())
}

#[test]
fn the_guide_has_every_limit_as_it_is() {
    use ictd::files::limits;
    let of = |n: u64| match n {
        n if n >= 1 << 40 => format!("{} TiB", n >> 40),
        n if n >= 1 << 30 => format!("{} GiB", n >> 30),
        n => format!("{} MiB", n >> 20),
    };
    let table = [
        ("TEXT", of(limits::TEXT)),
        ("PLAN", of(limits::PLAN)),
        ("RECORD", of(limits::RECORD)),
        ("STREAM", of(limits::STREAM)),
        ("TABLE", of(limits::TABLE)),
        ("MODEL", of(limits::MODEL)),
        ("ROW", of(limits::ROW as u64)),
        ("COLUMN_NAME", format!("{} bytes", limits::COLUMN_NAME)),
        ("FEATURES", limits::FEATURES.to_string()),
        ("ENTRIES", limits::ENTRIES.to_string()),
        ("ARRAYS", limits::ARRAYS.to_string()),
        ("NAMES", limits::NAMES.to_string()),
    ];
    let (code, guide) =
        (include_str!("../../src/files/limits.rs"), include_str!("../../src/guide/limits.md"));
    let defined = code.matches("\npub const ").count() + code.matches("LONGEST_").count();
    assert_eq!(defined, table.len(), "one is not in this table");
    for (name, value) in table {
        let row = guide.lines().find(|line| line.contains(&format!("[`{name}`]")));
        assert!(row.is_some_and(|row| row.ends_with(&format!("| {value} |"))), "{name}: {value}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn no_more_threads_are_started_than_there_is_work_and_than_the_system_gives() {
    let out = Folder::with("a.csv", signal("x,y", 200));
    for command in ["train --tasks 2", "predict a.csv", "demo --tasks 2"] {
        // A thread has 64 MiB for its stack.
        let line = format!("ulimit -v 1500000; ictd {command} --threads 1024");
        let run = shell(&out, &line);
        assert!(code(&run) < Some(2), "{command}: {run:?}");
    }
    let none = shell(&out, "ulimit -v 80000; ictd demo --tasks 2 --out d");
    assert!(refusal(&none).contains("--threads: "), "{none:?}");
    let stack = shell(&out, "RUST_MIN_STACK=99999999999999 ictd demo --tasks 2 --out e");
    assert!(code(&stack) < Some(2), "{stack:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn where_memory_cannot_be_had_a_line_says_so() {
    let out = Folder::with("a.csv", format!("phi_0,reward\n{}", "1,2\n".repeat(3_000_000)));
    ictd(&out, "demo --tasks 2");
    out.put("a.toml", format!("command = \"demo\"\n{}", "#".repeat(10_000_000)));
    let numbers = vec!["1"; 5_000_000].join(",");
    out.put("demo/results.json", format!("{{\"command\":\"demo\",\"x\":[{numbers}]}}"));
    let predict = "predict a.csv --column reward --gamma 0.9999 --threads 64";
    for command in ["evaluate --data a.csv", "--config a.toml", "report demo", predict] {
        // One arena: without, the allocator asks in vain for another in each call.
        let limited = "ulimit -v 250000; MALLOC_ARENA_MAX=1";
        let line = refusal(&shell(&out, &format!("{limited} ictd {command}")));
        let is_of_memory = line.contains(" bytes of memory, which it may take, cannot be had");
        // The stack of a thread may be what cannot be had.
        assert!(is_of_memory || line.contains("--threads: "), "{line}");
    }
    // From too little for a thread to enough for all: its figure, too, is asked for.
    out.put("a.csv", signal("x,y", 200));
    for kibibytes in (60_000..200_000).step_by(20_000) {
        let line = format!("ulimit -v {kibibytes}; ictd predict a.csv --threads 1 --out few");
        let run = shell(&out, &line);
        if code(&run) != Some(0) {
            assert!(refusal(&run).contains("--threads: "), "{run:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_predicted_as_a_file_is() {
    let out = Folder::with("a.csv", signal("x,y", 200));
    let [a, b] = [("predict a.csv", "a"), ("predict -", "b")].map(|(line, to)| {
        let run = shell(&out, &format!("cat a.csv | ictd {line} --out {to}"));
        assert_eq!(code(&run), Some(0), "{run:?}");
        out.join(to).bytes("predict/predictions.csv")
    });
    assert!(a == b);
    let line = refusal(&shell(&out, "cat a.csv | ictd predict /dev/stdin --out c"));
    assert!(line.contains("/dev/stdin: no regular file"), "{line}");
}

#[test]
fn a_columns_name_is_neither_markup_nor_a_formula() {
    let out = Folder::with("a.csv", signal("\u{1b}[31m\u{8}<a>,=cmd|A1", 200));
    object(&out, 0, "predict a.csv --out .");
    let svg = out.text("predict/predictions.svg");
    assert!(!svg.chars().any(|c| c.is_control() && c != '\n') && !svg.contains("<a>"));
    for name in ["predictions.csv", "shown.csv"] {
        let table = out.join("predict").text(name);
        assert!(table.contains("'=cmd|A1") && !table.contains(",=") && !table.contains("\n="));
    }
}

#[test]
fn rows_in_an_open_quote_are_not_taken_for_a_cell() {
    let out = &Folder::new();
    let rows = signal("phi_0,reward", 300);
    for (rest, reason) in [
        ("1,\"2\n3,4\n", "line 302: a quote that is not closed; expected one that is"),
        ("1,\"2\n3,4", "line 302: a quote that is not closed; expected one that is"),
        ("1,\"2\n3,4\"\n5,6\n", "a line break (an open quote?)"),
    ] {
        out.put("a.csv", format!("{rows}{rest}"));
        for command in ["predict a.csv --skip-gaps", "evaluate --data a.csv"] {
            let line = refused(out, command);
            assert!(line.contains(reason), "{command}: {line}");
        }
    }
    // One that is closed, and other cells than numbers, may have line breaks.
    let words = rows.replace("reward", "reward,note").replace('\n', ",\"a\nb\"\n");
    let words = words.replacen(",\"a\nb\"", "", 1);
    for end in ["", "1,2,\"\n# the end\n\""] {
        out.put("a.csv", format!("{words}{end}"));
        object(out, 0, "predict a.csv --skip-gaps");
    }
}
