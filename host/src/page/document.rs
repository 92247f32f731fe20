//! The page around the sections of its runs.

use super::content::{Content, RunPage};
use super::html::{table, tag, text};
use super::section::{command, section};
use super::words::{VERDICTS, badge, claims, shown};
use crate::program;
use crate::run::report::Verdict;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

const STYLE: &str = include_str!("../../assets/report/style.css");
const LIVE: &str = include_str!("../../assets/report/live.html");
const SCRIPT: &str = concat!(
    include_str!("../../assets/report/figures.js"),
    include_str!("../../assets/report/signals.js"),
    include_str!("../../assets/report/live.js")
);
const MODULE: &[u8] = include_bytes!("../../assets/report/live.wasm");

const LEAD: &str = "What was measured of the paper's claims, and a transformer to watch at work, in one file that needs no network.";

const VERDICT: &str = "A claim about seeds holds if the 95 % interval, over seeds and draws of tasks, of the share of seeds \
                       in which it is true lies above 0.75, in part if above 0.5, and does not if below 0.75; otherwise it \
                       cannot be told. One about a size or a change is judged by the 95 % interval of its mean or \
                       median. \u{201c}x (y to z)\u{201d} is a median with its quartiles, \
                       \u{201c}x [y, z]\u{201d} a number with its interval. \u{201c}As known\u{201d}: this project's \
                       findings say that the claim does not hold, and why.";

const FOOTER: &str = "<footer><p>The paper: Jiuqi Wang, Ethan Blaser, Hadi Daneshmand, Shangtong Zhang, \
     <cite>Transformers Can Learn Temporal Difference Methods for In-Context Reinforcement Learning</cite>\
     , ICLR 2025. Set in Inter (SIL Open Font License).</p></footer>";

/// Returns the policy that forbids the page to load anything from outside, and to run any script but this one.
fn policy(script: &str) -> String {
    let digest = BASE64.encode(hmac_sha256::Hash::hash(script.as_bytes()));
    format!(
        "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; \
         script-src 'sha256-{digest}' 'wasm-unsafe-eval'; base-uri 'none'; form-action 'none'"
    )
}

pub(super) fn document(content: &Content) -> String {
    let script = SCRIPT.replace("MODULE", &BASE64.encode(MODULE));
    let policy = policy(&script);
    let head = [
        "<meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
        &format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">"),
        "<meta name=\"color-scheme\" content=\"light dark\">",
        &tag("title", super::TITLE),
        "<link rel=\"icon\" href=\"data:,\">",
        &tag("style", font(400, figures::REGULAR) + &font(600, figures::SEMI_BOLD) + STYLE),
    ];
    let main = [
        overview(content),
        content.runs.iter().map(section).collect(),
        LIVE.replace("STORY", &format!("{:016x}", content.story)),
        digests(content),
    ];
    let body = [
        "<a class=\"skip\" href=\"#main\">Skip to the content</a>",
        &header(content),
        &tag("main id=\"main\"", main.concat()),
        FOOTER,
        &tag("script", script),
    ];
    let page = tag("head", head.concat()) + &tag("body", body.concat());
    // Characters that a page must not contain, and those that reorder the text around them.
    let stray = |c: char| program::is_hidden(c) && !c.is_ascii_whitespace();
    format!("<!DOCTYPE html>{}", tag("html lang=\"en\"", page)).replace(stray, "\u{fffd}")
}

fn font(weight: u32, bytes: &[u8]) -> String {
    format!(
        "@font-face{{font-family:Inter;font-weight:{weight};\
         src:url(data:font/otf;base64,{}) format(\"opentype\")}}\n",
        BASE64.encode(bytes)
    )
}

fn header(content: &Content) -> String {
    let count = |verdict| content.runs.iter().map(|run| run.count(verdict)).sum::<usize>();
    let total: usize = VERDICTS.map(count).iter().sum();
    let tile = |verdict| {
        let count = count(verdict);
        let said = format!("{} {}", tag("b", count), claims(verdict, count));
        tag(&format!("li class=\"tile {}\"", shown(verdict)[0]), said)
    };
    let claims = if total == 1 { "claim" } else { "claims" };
    let tiles = format!("ul class=\"tiles\" aria-label=\"{total} {claims} in all\"");
    let version = env!("CARGO_PKG_VERSION");
    let parts = [
        tag("p class=\"kicker\"", format!("ictd {version} · report")),
        tag("h1", "Transformers that run TD in their forward pass"),
        tag("p class=\"lead\"", LEAD),
        tag(&tiles, VERDICTS.map(tile).concat()),
        tag(
            "details",
            tag("summary", "How a claim is judged") + &tag("p class=\"scale\"", VERDICT),
        ),
    ];
    tag("header", parts.concat())
}

fn overview(content: &Content) -> String {
    let link = |to: &str, words: &str| tag("li", tag(&format!("a href=\"#{to}\""), words));
    let entries = [
        content.runs.iter().map(entry).collect(),
        link("live", "Watch it learn in context"),
        link("signals", "Watch it predict a signal"),
        link("digests", "The same bits everywhere"),
    ];
    let left_out = content.left_out.iter().map(|(name, reason)| {
        tag("p class=\"note\"", format!("Left out: {}: {}", text(name), text(reason)))
    });
    let list = tag("h2 id=\"contents\"", "Contents") + &tag("ol", entries.concat());
    tag("nav aria-labelledby=\"contents\"", list + &left_out.collect::<String>())
}

fn entry(run: &RunPage) -> String {
    let counts = VERDICTS.into_iter().map(|verdict| (verdict, run.count(verdict)));
    let counts: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(verdict, count)| format!("{count} {}", claims(verdict, count)))
        .collect();
    let words = if counts.is_empty() { "no claims".into() } else { counts.join(", ") };
    let dot = |verdict| tag(&format!("i class=\"dot {}\"", shown(verdict)[0]), "");
    let dots: String = run.results.claims.iter().map(|claim| dot(claim.verdict)).collect();
    let link = tag(&format!("a href=\"#{}\"", run.anchor()), text(run.title()));
    let dots = tag(&format!("span class=\"dots\" role=\"img\" aria-label=\"{words}\""), dots);
    tag("li", format!("{link} {dots}"))
}

fn digests(content: &Content) -> String {
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
    let paragraph = format!(
        "The core promises the same result, bit for bit, on every machine. Each kernel is a part of \
         its work on fixed seeds; all its results go into one digest. On this machine ({} {}): {says}. {}",
        std::env::consts::ARCH,
        std::env::consts::OS,
        badge(Verdict::of(equal), None)
    );
    let head = ["kernel", "this machine", "every platform", "verdict", "what it runs"];
    let rest = table("Digests of the core's kernels", &head, &rows) + &command("digest");
    let heading = tag("h2 id=\"digests-title\"", "The same bits everywhere");
    let section = heading + &tag("p", paragraph) + &rest;
    tag("section id=\"digests\" aria-labelledby=\"digests-title\"", section)
}
