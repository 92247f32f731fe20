//! Every command line of `ictd` that the READMEs and the guide show is one that the program takes.

use crate::common::*;
use ictd::cli;

/// Words that stand for something of the reader's, and an example of each.
const EXAMPLES: &[(&str, &str)] = &[
    ("COMMAND", "train"),
    ("ID", "figure-2"),
    ("I/N", "1/2"),
    ("--task NAME", "--task boyan"),
    ("--construction NAME", "--construction td0"),
    ("reproduce NAME", "reproduce figure-2"),
    ("--config FILE", "--help"),
];

/// Returns the pages, from the repository's root.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let guide =
        files(&root.join("host/src/guide")).into_iter().filter(|name| name.ends_with(".md"));
    let guide = guide.map(|name| root.join("host/src/guide").join(name));
    let readmes =
        ["README.md", "embedded-demo/README.md", "core/c/README.md", "host/python/README.md"];
    readmes.iter().map(|page| root.join(page)).chain(guide).collect()
}

/// Returns what a page shows as typed: the lines of its blocks of code, and the code within its sentences.
fn code(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (i, part) in page.split("```").enumerate() {
        if i % 2 == 1 {
            found.extend(part.replace("\\\n", " ").lines().map(str::to_owned));
        } else {
            found.extend(part.split('`').skip(1).step_by(2).map(|code| code.replace('\n', " ")));
        }
    }
    found
}

/// Returns the arguments of a command line, without the program; `None` of anything else.
fn arguments(line: &str) -> Option<Vec<String>> {
    let line = line.split_once(" #").map_or(line, |(line, _)| line).trim();
    let line = line.strip_prefix("nice ").unwrap_or(line);
    let typed =
        (line.strip_prefix("ictd ")).or_else(|| line.strip_prefix("cargo run -p host -- "))?;
    // A part of a command line, or one that another program completes.
    if typed.contains("...") || typed.contains(['$', '{', '|']) {
        return None;
    }
    let mut typed = format!(" {typed} ");
    for (word, example) in EXAMPLES {
        typed = typed.replace(&format!(" {word} "), &format!(" {example} "));
    }
    let mut typed: Vec<_> = typed.split_whitespace().map(str::to_owned).collect();
    // Only the name of a command.
    if typed.len() == 1 {
        typed.push("--help".into());
    }
    Some(typed)
}

#[test]
fn every_documented_command_line_is_one_that_the_program_takes() {
    let (mut tried, mut refused) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for line in code(&text) {
            let Some(arguments) = arguments(&line) else { continue };
            tried += 1;
            let typed = std::iter::once("ictd".into()).chain(arguments.iter().map(Into::into));
            if let Err(error) = cli::parse(typed.collect()) {
                refused.push(format!("{}: {line}\n    {error}", page.display()));
            }
        }
    }
    assert!(refused.is_empty(), "\n{}", refused.join("\n"));
    assert!(tried > 80, "{tried} command lines are found");
}
