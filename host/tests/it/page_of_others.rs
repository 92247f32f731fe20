//! The report's promises about content from elsewhere, in a browser: no script of it runs, no address of it is
//! asked for, and it is there to be read.
//!
//! The page of the same runs with plain words in the same places is looked at first.

use crate::common::ictd;
use crate::report_page::browser;
use ictd::cli::command::catalogue;
use ictd::page::{self, Damaged};
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::fs;
use std::path::Path;

/// Each `N` becomes the number of the place; `pwned` is what a script would leave.
const HOSTILE: [&str; 24] = [
    "<script>pwned=1</script> mark-N.",
    "</script><script>pwned=1</script> mark-N.",
    "</style><script>pwned=1</script> mark-N.",
    "</title><img src=x onerror=pwned=1> mark-N.",
    "\"><img src=x onerror=pwned=1> mark-N.",
    "'><svg onload=pwned=1> mark-N.",
    "\" onmouseover=\"pwned=1\" x=\" mark-N.",
    "' onfocus='pwned=1' autofocus x=' mark-N.",
    "`onclick=pwned=1` mark-N.",
    "javascript:pwned=1 mark-N.",
    "<a href=\"javascript:pwned=1\">mark-N.</a>",
    "<a href=\"&#106;avascript:pwned=1\">mark-N.</a>",
    "<iframe src=https://example.invalid/N> mark-N.",
    "<iframe srcdoc='<script>parent.pwned=1</script>'> mark-N.",
    "<object data=https://example.invalid/N> mark-N.",
    "<link rel=stylesheet href=https://example.invalid/N> mark-N.",
    "<meta http-equiv=refresh content='0;url=https://example.invalid/N'> mark-N.",
    "<base href=https://example.invalid/N> <form action=https://example.invalid/N> mark-N.",
    "<style>@import url(https://example.invalid/N);</style> mark-N.",
    "\" style=\"background:url(https://example.invalid/N)\" mark-N.",
    "--> ]]> <![CDATA[ <!-- mark-N.",
    "&lt;script&gt;pwned=1&lt;/script&gt; &#x3c;img src=x onerror=pwned=1&#x3e; mark-N.",
    "a\u{202e}b\u{2066}c\u{200b}d\u{feff}e\u{2028}f mark-N.",
    "<svg><animate onbegin=pwned=1 attributeName=x dur=1s><image href=https://example.invalid/N/></svg> mark-N.",
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
            let claims: Vec<_> =
                (["holds", "holds-in-part", "does-not-hold"].iter().cycle().take(9))
                    .map(|verdict| claim(verdict))
                    .collect();
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
        fs::write(folder.join(format!("{}.csv", words.name())), "x\n").unwrap();
        fs::rename(&folder, out.join(words.name())).unwrap();
    }
    // Left out, with reasons that quote them.
    for content in [json!({ "command": "demo", "claims": words.next() }), json!(words.next())] {
        let folder = out.join(words.name());
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("results.json"), content.to_string()).unwrap();
    }
    page::write(out, Damaged::LeaveOut, &catalogue()).unwrap();
}

/// Addresses, and styles that hold one.
const ADDRESSES: &str = "[...document.querySelectorAll('*')].flatMap((e) => [...e.attributes]) \
    .filter((a) => /^(src|href|xlink:href|action|data|poster|style)$/i.test(a.name)) \
    .map((a) => a.value).filter((v) => !/^(#[\\w-]*|data:,|--natural:[\\d.]+px;--least:[\\d.]+px)$/.test(v) \
        && !/^[a-z-]+:[^(:]*(;[a-z-]+:[^(:]*)*;?$/.test(v))";
/// Everything that can be, is: pointed at, focused, opened, clicked.
const TOUCH: &str = "(() => { for (const e of document.querySelectorAll('body *')) { \
    for (const kind of ['mouseover', 'mouseenter', 'focus', 'load', 'error', 'toggle', 'begin']) \
      e.dispatchEvent(new Event(kind, { bubbles: true })); \
    if (e.matches('details')) e.open = true; \
    if (e.matches('a, summary, .moving button')) e.click(); } })()";
/// All text that a reader sees, figures and descriptions among it.
const TEXT: &str = "[...document.querySelectorAll('body *:not(script):not(style)')] \
    .flatMap((e) => [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data)).join('\\n')";

#[test]
fn nothing_in_a_run_of_somebody_else_becomes_a_part_of_the_page() {
    let Some(mut browser) = browser("hostile run directories") else { return };
    let (plain, hostile) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let plain_words = Words { texts: &["plain mark-N."], places: Cell::new(0) };
    page_of(plain.path(), &plain_words);
    let hostile_words = Words { texts: &HOSTILE, places: Cell::new(0) };
    page_of(hostile.path(), &hostile_words);
    let places = hostile_words.places.get();
    assert_eq!(places, plain_words.places.get());
    let mut pages: Vec<String> = Vec::new();
    for directory in [plain.path(), hostile.path()] {
        browser.set_screen(1280, 900, false);
        browser.open(&directory.join("report.html"));
        browser.wait_for("!document.getElementById('live-app').hidden");
        browser.evaluate(TOUCH);
        let text = browser.evaluate(TEXT).as_str().unwrap_or_default().to_owned();
        assert_eq!(browser.evaluate(ADDRESSES), json!([]));
        assert_eq!(browser.evaluate("typeof pwned"), "undefined");
        let address = browser.evaluate("location.pathname.endsWith('report.html')");
        assert_eq!(address, true, "it led elsewhere");
        assert_eq!(browser.problems(), [""; 0]);
        browser.screenshot(if pages.is_empty() { "plain.png" } else { "hostile.png" }, true);
        pages.push(text);
    }
    // It is there, as text.
    for piece in ["<script>pwned=1</script>", "onerror=pwned=1>", "javascript:pwned=1", "&#106;"] {
        assert!(pages[1].contains(piece), "{piece}");
    }
}
