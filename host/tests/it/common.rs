//! Running the program, and reading what it says and writes; and what nearly every test names.

pub(crate) use ictd::formats::{Array, Data, npz};
pub(crate) use serde_json::Value;
pub(crate) use std::fs;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::{Command, Output, Stdio};

/// Says that a test did not run since something is missing, which is a failure under CI. Not captured, unlike println: a run
/// without it must not look like one with it.
#[track_caller]
pub(crate) fn not_run(reason: &str) {
    use std::io::Write;
    assert!(std::env::var_os("CI").is_none(), "NOT RUN: {reason}");
    let _ = writeln!(std::io::stderr(), "NOT RUN: {reason}");
}

/// A folder of its own, which goes with it.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    /// One with this file.
    pub(crate) fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let folder = Folder::new();
        folder.put(name, content);
        folder
    }
}

impl std::ops::Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.0.path()
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        self
    }
}

/// The files below a folder.
pub(crate) trait Files: AsRef<Path> {
    fn put(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        fs::write(self.as_ref().join(name), content).unwrap();
    }

    fn bytes(&self, name: impl AsRef<Path>) -> Vec<u8> {
        fs::read(self.as_ref().join(name)).unwrap()
    }

    fn text(&self, name: impl AsRef<Path>) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    /// The object in a file.
    fn json(&self, name: impl AsRef<Path>) -> Value {
        serde_json::from_slice(&self.bytes(name)).unwrap()
    }
}

impl Files for Path {}

/// The commands that take no `--out`.
const WITHOUT_OUT: [&str; 5] = ["plot", "report", "list", "digest", "inspect"];

/// Options of a small training run.
pub(crate) const SMALL: &str = "--batches 2 --batch-size 8 --context-length 10";

/// Runs `ictd` with arguments separated by spaces, writing to `out` if it is not said otherwise.
pub(crate) fn ictd(out: &Path, arguments: &str) -> Output {
    let mut command = program(Path::new("."), arguments);
    let name = arguments.split_whitespace().next().unwrap_or_default();
    if !WITHOUT_OUT.contains(&name) && !arguments.contains("--resume ") {
        command.arg("--out").arg(out);
    }
    command.output().expect("ictd starts")
}

/// Runs `ictd` like [`ictd`]: it ends with exit code 0.
#[track_caller]
pub(crate) fn done(out: &Path, arguments: &str) -> Output {
    let output = ictd(out, arguments);
    assert_eq!(code(&output), Some(0), "{arguments}: {output:?}");
    output
}

pub(crate) fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

/// The line of a refusal.
#[track_caller]
pub(crate) fn refusal(output: &Output) -> String {
    let line = String::from_utf8(output.stderr.clone()).expect("UTF-8");
    assert_eq!((code(output), line.lines().count()), (Some(2), 1), "{line}");
    line
}

/// What a command printed.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("stdout is one JSON object")
}

/// What a command said on stdout and stderr.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8([&output.stdout[..], &output.stderr[..]].concat()).expect("UTF-8")
}

/// Returns `ictd` in a directory, with arguments separated by spaces.
pub(crate) fn program(here: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ictd"));
    command.current_dir(here).args(line.split_whitespace());
    command
}

/// Runs a command there.
pub(crate) fn run(here: &Path, line: &str) -> Output {
    program(here, line).output().expect("ictd starts")
}

/// The object of a command that ends with this code there.
#[track_caller]
pub(crate) fn object(here: &Path, code: i32, line: &str) -> Value {
    let output = run(here, &format!("{line} --json"));
    assert_eq!(output.status.code(), Some(code), "{line}: {output:?}");
    json(&output)
}

/// The line of a command that is refused there.
#[track_caller]
pub(crate) fn refused(here: &Path, line: &str) -> String {
    let output = run(here, line);
    assert!(output.stdout.is_empty(), "{line}");
    refusal(&output)
}

/// A `.safetensors` file as another tool writes it: matrices of f32 by name, each K x K, and what it says of them.
pub(crate) fn safetensors(
    matrices: &[(impl AsRef<str>, Vec<f32>)],
    metadata: &[(&str, &str)],
) -> Vec<u8> {
    use ::safetensors::{Dtype, serialize, tensor::TensorView};
    let bytes = |m: &Vec<f32>| m.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let data: Vec<_> = matrices.iter().map(|(_, m)| (vec![m.len().isqrt(); 2], bytes(m))).collect();
    let metadata = metadata.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let names = matrices.iter().map(|(name, _)| name.as_ref());
    let views =
        data.iter().map(|(shape, data)| TensorView::new(Dtype::F32, shape.clone(), data).unwrap());
    serialize(names.zip(views), Some(metadata)).unwrap()
}

/// An array of doubles.
pub(crate) fn array(shape: &[usize], numbers: impl IntoIterator<Item = f64>) -> Array {
    Array { shape: shape.to_vec(), data: Data::F64(numbers.into_iter().collect()) }
}

/// The bytes of an `.npz` file.
pub(crate) fn npz_of(arrays: &[(&str, Array)]) -> Vec<u8> {
    let arrays: Vec<_> = arrays.iter().map(|(name, array)| (*name, array)).collect();
    npz::to_bytes(&arrays).unwrap()
}

/// A number of [-1, 1] without a pattern.
pub(crate) fn number(i: usize) -> f64 {
    ((i * 7919 + 31) % 101) as f64 / 50.0 - 1.0
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// Returns every file below a directory, relative, sorted.
pub(crate) fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().expect("names are UTF-8");
        if entry.path().is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|f| format!("{name}/{f}")));
        } else {
            found.push(name);
        }
    }
    found.sort();
    found
}

/// Every file below a directory with its content, but those that say how a run went and who is at work on it.
pub(crate) fn contents(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let is_result = |name: &String| !name.ends_with("run.json") && !name.ends_with(".lock");
    let read = |name: String| fs::read(directory.join(&name)).map(|content| (name, content));
    files(directory).into_iter().filter(is_result).map(|name| read(name).unwrap()).collect()
}

/// Compares two directories by [`contents`].
#[track_caller]
pub(crate) fn assert_same(found: &Path, expected: &Path) {
    let [found, expected] = [found, expected].map(contents);
    let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
        files.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&found), names(&expected));
    for ((name, found), (_, expected)) in found.iter().zip(&expected) {
        assert!(found == expected, "{name} differs");
    }
}

/// The folder of the one training run in a directory, named after its recipe; before there is one, a folder that
/// is not there.
pub(crate) fn trained(out: &Path) -> PathBuf {
    let inside = fs::read_dir(out).into_iter().flatten().flatten();
    let mut found = inside.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        let of_recipe = name.split_once("-L").and_then(|(_, rest)| rest.split_once('-'));
        of_recipe.is_some_and(|(_, digest)| digest.len() == 8)
    });
    let first = found.next();
    assert!(found.next().is_none(), "more than one run in {}", out.display());
    first.unwrap_or_else(|| out.join("no-run"))
}

/// Gives the one training run in a directory the name `train`: a run is the same wherever it is.
pub(crate) fn as_train(out: &Path) {
    fs::rename(trained(out), out.join("train")).unwrap();
}

/// A command on whose process signals act, whatever this one was told to ignore: SIGINT, if it runs in the
/// background.
#[cfg(unix)]
pub(crate) fn with_default_signals(mut command: Command) -> Command {
    use std::os::unix::process::CommandExt;
    // SAFETY: between fork and exec, `signal` is one of the functions that may be called.
    unsafe {
        command.pre_exec(|| {
            for number in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::signal(number, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    command
}
