//! The page around its runs.

use super::content::Content;
use super::run::Run;
use super::section::{command, section};
use super::table::table;
use super::verdict::{VERDICTS, badge, claims, class};
use crate::digests;
use crate::program;
use crate::run::report::Verdict;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("../../assets/report/style.css");
const LIVE: &str = include_str!("../../assets/report/live.html");
const SCRIPT: &str = concat!(
    include_str!("../../assets/report/figures.js"),
    include_str!("../../assets/report/signals.js"),
    include_str!("../../assets/report/live.js")
);
const MODULE: &[u8] = include_bytes!("../../assets/report/live.wasm");

/// Nothing may be loaded but what the page itself holds.
const POLICY: &str = "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; \
                      script-src 'unsafe-inline' 'wasm-unsafe-eval'; base-uri 'none'; \
                      form-action 'none'";

pub(super) fn document(content: &Content) -> String {
    let live = LIVE.replace("STORY", &format!("{:016x}", content.story));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                title { (super::TITLE) }
                link rel="icon" href="data:,";
                style {
                    (font(400, figures::REGULAR)) (font(600, figures::SEMI_BOLD)) (PreEscaped(STYLE))
                }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (header(content))
                main #main {
                    (overview(content))
                    (PreEscaped(live))
                    @for run in &content.runs { (section(run)) }
                    (digests(content))
                    (commands(content))
                }
                (footer())
                script { (PreEscaped(SCRIPT.replace("MODULE", &BASE64.encode(MODULE)))) }
            }
        }
    };
    // What no page may hold, and what turns around the text beside it.
    let stray = |c: char| program::is_hidden(c) && !c.is_ascii_whitespace();
    page.into_string().replace(stray, "\u{fffd}")
}

fn font(weight: u32, bytes: &[u8]) -> Markup {
    PreEscaped(format!(
        "@font-face{{font-family:Inter;font-weight:{weight};\
         src:url(data:font/otf;base64,{}) format(\"opentype\")}}\n",
        BASE64.encode(bytes)
    ))
}

fn header(content: &Content) -> Markup {
    let count = |verdict| content.runs.iter().map(|run| run.count(verdict)).sum::<usize>();
    let total: usize = VERDICTS.into_iter().map(count).sum();
    let all = format!("{total} {} in all", if total == 1 { "claim" } else { "claims" });
    html! {
        header {
            p.kicker { "ictd " (env!("CARGO_PKG_VERSION")) " · report" }
            h1 { "Transformers that run TD in their forward pass" }
            p.lead {
                "What the paper claims, what was measured, and a transformer to watch at work. This page is \
                 one file and asks for nothing else: no server, no network."
            }
            ul.tiles aria-label=(all) {
                @for verdict in VERDICTS {
                    @let count = count(verdict);
                    li.tile.(class(verdict)) { b { (count) } " " (claims(verdict, count)) }
                }
            }
        }
    }
}

/// The contents, with each experiment's verdicts.
fn overview(content: &Content) -> Markup {
    html! {
        nav aria-labelledby="contents" {
            h2 #contents { "Contents" }
            ol {
                li { a href="#live" { "Watch it learn in context" } }
                li { a href="#signals" { "Watch it predict a signal" } }
                @for run in &content.runs { (entry(run)) }
                li { a href="#digests" { "The same bits everywhere" } }
                li { a href="#commands" { "How to repeat it" } }
            }
            @for (name, reason) in &content.left_out {
                p.note { "Left out: " (name) ": " (reason) }
            }
        }
    }
}

fn entry(run: &Run) -> Markup {
    let counts: Vec<String> = VERDICTS
        .into_iter()
        .map(|verdict| (verdict, run.count(verdict)))
        .filter(|(_, count)| *count > 0)
        .map(|(verdict, count)| format!("{count} {}", claims(verdict, count)))
        .collect();
    let words = if counts.is_empty() { "no claims".into() } else { counts.join(", ") };
    html! {
        li {
            a href={ "#" (run.anchor()) } { (run.title()) }
            " "
            span.dots role="img" aria-label=(words) {
                @for claim in &run.claims { i.dot.(class(claim.verdict)) {} }
            }
        }
    }
}

fn digests(content: &Content) -> Markup {
    let row = |row: &digests::Row| -> Vec<String> {
        let equal = if row.equal { "equal" } else { "NOT EQUAL" };
        [row.kernel, &row.digest, row.expected, equal, row.about].map(str::to_owned).into()
    };
    let rows: Vec<_> = content.digests.iter().map(row).collect();
    let equal = content.digests.iter().all(|row| row.equal);
    let says = match equal {
        true => "every bit of every result was what it is on every other platform",
        false => "this machine computes something else",
    };
    let head = ["kernel", "this machine", "every platform", "verdict", "what it runs"];
    html! {
        section #digests aria-labelledby="digests-title" {
            h2 #digests-title { "The same bits everywhere" }
            p {
                "The core promises the same result, bit for bit, on every machine. Each kernel is a part of \
                 its work on fixed seeds; all its results go into one digest. On this machine ("
                (std::env::consts::ARCH) " " (std::env::consts::OS) "): " (says) ". "
                (badge(Verdict::of(equal)))
            }
            (table("Digests of the core's kernels", &head, &rows))
            (command("digest"))
        }
    }
}

fn commands(content: &Content) -> Markup {
    let row = |run: &Run| {
        let command = program::call(&run.repeats);
        vec![run.title().to_owned(), command, run.records.join(", ")]
    };
    let rows: Vec<_> = content.runs.iter().map(row).collect();
    html! {
        section #commands aria-labelledby="commands-title" {
            h2 #commands-title { "How to repeat it" }
            p {
                "Equal seeds give equal bits. Each command writes its figures, and the records that they are \
                 drawn from, into a directory of its name; "
                code { (program::call("report DIR")) }
                " makes this page of them again."
            }
            (table("Commands", &["what", "command", "records"], &rows))
        }
    }
}

fn footer() -> Markup {
    html! {
        footer {
            p {
                "The paper: Jiuqi Wang, Ethan Blaser, Hadi Daneshmand, Shangtong Zhang, "
                cite {
                    "Transformers Can Learn Temporal Difference Methods for In-Context Reinforcement Learning"
                }
                ", ICLR 2025. Set in Inter (SIL Open Font License)."
            }
        }
    }
}
