//! The report's promises about content from elsewhere: all of it is text, and no address of it is asked for.

use crate::common::*;
use ictd::cli::command::catalogue;
use ictd::page::{self, Damaged};
use serde_json::{Map, Value, json};
use std::cell::Cell;

/// Each `N` becomes the number of the place.
const HOSTILE: [&str; 8] = [
    "</script></style></title><script>pwned=1</script> mark-N.",
    "\"><img src=x onerror=pwned=1> mark-N.",
    "'><svg onload='pwned=1'> mark-N.",
    "\" onmouseover=\"pwned=1\" style=\"background:url(https://example.invalid/N)\" x=\" mark-N.",
    "<a href=\"&#106;avascript:pwned=1\">mark-N.</a>",
    "--> ]]> <![CDATA[ <!-- mark-N.",
    "&lt;script&gt;pwned=1&lt;/script&gt; &#x3c;img src=x onerror=pwned=1&#x3e; mark-N.",
    "a\u{202e}b\u{2066}c\u{200b}d\u{feff}e\u{2028}f mark-N.",
];

/// The words that stand in each place in turn, and how many places there were.
struct Words<'a> {
    texts: &'a [&'a str],
    places: Cell<usize>,
}

impl Words<'_> {
    fn next(&self) -> String {
        let place = self.places.get();
        self.places.set(place + 1);
        self.texts[place % self.texts.len()].replace('N', &place.to_string())
    }

    /// For the name of a file.
    fn name(&self) -> String {
        self.next().replace('/', "\u{2215}")
    }
}

fn edit(path: &Path, change: impl FnOnce(&mut Map<String, Value>)) {
    let mut value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(value.as_object_mut().unwrap());
    fs::write(path, value.to_string()).unwrap();
}

/// Runs in which everything that is text is somebody's, and their page.
fn page_of(out: &Path, words: &Words) {
    let rows: String = (0..120).map(|i| format!("{},{}\n", i % 7, i % 5)).collect();
    let quoted = |text: String| format!("\"{}\"", text.replace('"', "\"\""));
    let head = format!("{},{}\n", quoted(words.next()), quoted(words.next()));
    let signals = out.join("signals.csv");
    fs::write(&signals, head + &rows).unwrap();
    let predict = format!("predict {} --gamma 0.5", signals.display());
    let figure = "reproduce figure-2 --seeds 2 --tasks 20";
    for arguments in ["demo --tasks 2", &predict, figure] {
        let made = ictd(out, arguments);
        assert!(made.status.code() < Some(2), "{arguments}: {made:?}");
    }
    fs::remove_dir_all(out.join("runs")).unwrap();
    for run in ["demo", "predict", "figure-2"] {
        let folder = out.join(run);
        edit(&folder.join("results.json"), |results| {
            results["figure"] = words.next().into();
            let claim = |verdict: &str| json!({ "claim": words.next(), "paper": words.next(), "measured": words.next(), "verdict": verdict });
            let verdicts = ["holds", "holds-in-part", "does-not-hold"].repeat(3);
            let claims: Vec<_> = verdicts.into_iter().map(claim).collect();
            results.insert("claims".into(), claims.into());
            let config = results["config"].as_object_mut().unwrap();
            for _ in 0..4 {
                config.insert(words.next(), words.next().into());
                config.insert(words.next(), true.into());
            }
            results.insert(words.next(), words.next().into());
            results.insert(words.next(), json!({ words.next(): words.next() }));
            results.insert(words.next(), json!({ words.next(): { words.next(): words.next() } }));
            results.insert(words.next(), json!([{ "seed": words.next(), words.next(): 1.5 }]));
            results.insert(words.next(), json!([1.0, 2.0]));
        });
        edit(&folder.join("run.json"), |info| {
            for key in ["ictd", "rustc", "opt_level"] {
                info["versions"][key] = words.next().into();
            }
            for key in ["target", "instructions"] {
                info["platform"][key] = words.next().into();
            }
            let files = info["digests"]["files"].as_object_mut().unwrap();
            files.insert(words.next(), words.next().into());
        });
        folder.put(format!("{}.csv", words.name()), "x\n");
        fs::rename(&folder, out.join(words.name())).unwrap();
    }
    // Left out, with reasons that quote them.
    for content in [json!({ "command": "demo", "claims": words.next() }), json!(words.next())] {
        let folder = out.join(words.name());
        fs::create_dir(&folder).unwrap();
        folder.put("results.json", content.to_string());
    }
    page::write(out, Damaged::LeaveOut, &catalogue()).unwrap();
}

/// Returns the markup of a page, without its texts and the values of its attributes; and those attributes.
fn markup(page: &str) -> (String, Vec<(&str, &str)>) {
    let (mut names, mut attributes) = (String::new(), Vec::new());
    // Style and script are the program's own.
    let body = page.split_once("<body>").unwrap().1.rsplit_once("<script>").unwrap().0;
    for tag in body.split('<').skip(1) {
        let (tag, _text) = tag.rsplit_once('>').unwrap();
        assert!(!tag.contains('>'), "{tag}");
        let parts: Vec<_> = tag.split('"').collect();
        names.extend(parts.iter().step_by(2).copied().chain(["\n"]));
        attributes.extend(parts.chunks_exact(2).map(|part| (part[0].trim(), part[1])));
    }
    (names, attributes)
}

#[test]
fn nothing_in_a_run_of_somebody_else_becomes_a_part_of_the_page() {
    let page = |texts: &[&str]| {
        let (out, words) = (Folder::new(), Words { texts, places: Cell::new(0) });
        page_of(&out, &words);
        out.text("report.html")
    };
    let (plain, hostile) = (page(&["plain mark-N."]), page(&HOSTILE));
    let ((expected, _), (found, attributes)) = (markup(&plain), markup(&hostile));
    assert!(found == expected, "{found}");
    // A run's text stands in descriptions, and in names within the page; nothing is asked for.
    for (name, value) in attributes {
        let name = name.rsplit(' ').next().unwrap();
        let is_own =
            !value.contains("mark-") || ["id=", "aria-label=", "aria-labelledby="].contains(&name);
        let is_inside = value.starts_with('#') || value.starts_with("url(#");
        assert!(is_own || is_inside, "{name}{value}");
        assert!(!["src=", "action=", "data="].contains(&name) && (name != "href=" || is_inside));
    }
    // It is there, as text.
    for piece in ["&lt;script&gt;pwned=1&lt;/script&gt;", "onerror=pwned=1&gt;", "&amp;#106;"] {
        assert!(hostile.contains(piece) && !hostile.contains('\u{202e}'), "{piece}");
    }
}
