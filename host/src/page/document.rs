//! The page's text, section by section.

use super::html::{base64, data_address, escape, table};
use super::run::{EMERGENCE, Run};
use super::{Content, numbers};
use crate::run::report::{Claim, Verdict};

const STYLE: &str = include_str!("../../assets/report/style.css");
const LIVE: &str = include_str!("../../assets/report/live.html");
const SCRIPT: &str = concat!(
    include_str!("../../assets/report/figures.js"),
    include_str!("../../assets/report/live.js")
);
const MODULE: &[u8] = include_bytes!("../../assets/report/live.wasm");
const REGULAR: &[u8] = include_bytes!("../../assets/inter/Inter-Regular.otf");
const SEMI_BOLD: &[u8] = include_bytes!("../../assets/inter/Inter-SemiBold.otf");

/// Nothing may be loaded but what the page itself holds.
const POLICY: &str = "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; \
                      script-src 'unsafe-inline' 'wasm-unsafe-eval'; base-uri 'none'; \
                      form-action 'none'";

const VERDICTS: [Verdict; 3] = [Verdict::Holds, Verdict::HoldsInPart, Verdict::DoesNotHold];

pub(super) fn document(content: &Content) -> String {
    let font = |weight: u32, bytes: &[u8]| {
        format!(
            "@font-face{{font-family:Inter;font-weight:{weight};src:url({}) format(\"opentype\")}}\n",
            data_address("font/otf", bytes)
        )
    };
    let runs: String = content.runs.iter().map(section).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>In-context TD: claims and measurements</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <style>\n{}{}{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the content</a>\n\
         {}<main id=\"main\">\n{}{}{runs}{}{}</main>\n{}\
         <script>\n{}</script>\n</body>\n</html>\n",
        font(400, REGULAR),
        font(600, SEMI_BOLD),
        header(content),
        overview(content),
        LIVE.replace("STORY", &format!("{:016x}", content.story)),
        digests(content),
        commands(content),
        footer(),
        SCRIPT.replace("MODULE", &base64(MODULE)),
    )
}

fn header(content: &Content) -> String {
    let count = |v: Verdict| content.runs.iter().map(|r| r.count(v)).sum::<usize>();
    let total: usize = VERDICTS.into_iter().map(count).sum();
    let tiles: String = VERDICTS
        .into_iter()
        .map(|v| {
            format!(
                "<li class=\"tile {}\"><b>{}</b> {}</li>\n",
                class(v),
                count(v),
                plural(v, count(v))
            )
        })
        .collect();
    let claims = if total == 1 { "claim" } else { "claims" };
    format!(
        "<header>\n<p class=\"kicker\">ictd {} · report</p>\n\
         <h1>Transformers that run TD in their forward pass</h1>\n\
         <p class=\"lead\">What the paper claims, what was measured, and a transformer to watch at \
         work. This page is one file and asks for nothing else: no server, no network.</p>\n\
         <ul class=\"tiles\" aria-label=\"{total} {claims} in all\">\n{tiles}</ul>\n</header>\n",
        env!("CARGO_PKG_VERSION"),
    )
}

fn plural(verdict: Verdict, count: usize) -> &'static str {
    match (verdict, count) {
        (Verdict::Holds, 1) => "claim holds",
        (Verdict::Holds, _) => "claims hold",
        (Verdict::HoldsInPart, 1) => "claim holds in part",
        (Verdict::HoldsInPart, _) => "claims hold in part",
        (Verdict::DoesNotHold, 1) => "claim does not hold",
        (Verdict::DoesNotHold, _) => "claims do not hold",
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::HoldsInPart => "part",
        Verdict::DoesNotHold => "fails",
    }
}

fn badge(verdict: Verdict) -> String {
    let words = match verdict {
        Verdict::Holds => "holds",
        Verdict::HoldsInPart => "holds in part",
        Verdict::DoesNotHold => "does not hold",
    };
    worded_badge(verdict, words)
}

fn worded_badge(verdict: Verdict, words: &str) -> String {
    format!("<span class=\"badge {}\">{words}</span>", class(verdict))
}

/// The contents, with each experiment's verdicts.
fn overview(content: &Content) -> String {
    let entry = |run: &Run| {
        let dots: String = run
            .claims
            .iter()
            .map(|c| format!("<i class=\"dot {}\"></i>", class(c.verdict)))
            .collect();
        let counts: Vec<String> = VERDICTS
            .into_iter()
            .map(|v| (v, run.count(v)))
            .filter(|(_, n)| *n > 0)
            .map(|(v, n)| format!("{n} {}", plural(v, n)))
            .collect();
        let words = if counts.is_empty() { "no claims".into() } else { counts.join(", ") };
        format!(
            "<li><a href=\"#{}\">{}</a> <span class=\"dots\" role=\"img\" \
             aria-label=\"{words}\">{dots}</span></li>\n",
            run.anchor(),
            escape(run.title()),
        )
    };
    let runs: String = content.runs.iter().map(entry).collect();
    let left_out: String = content
        .left_out
        .iter()
        .map(|(name, reason)| {
            format!("<p class=\"note\">Left out: {}: {}</p>\n", escape(name), escape(reason))
        })
        .collect();
    format!(
        "<nav aria-labelledby=\"contents\">\n<h2 id=\"contents\">Contents</h2>\n<ol>\n\
         <li><a href=\"#live\">Watch it learn in context</a></li>\n{runs}\
         <li><a href=\"#digests\">The same bits everywhere</a></li>\n\
         <li><a href=\"#commands\">How to repeat it</a></li>\n</ol>\n{left_out}</nav>\n"
    )
}

/// A run: its claims, figures, moving pictures and numbers.
fn section(run: &Run) -> String {
    let anchor = run.anchor();
    let claims: String = run.claims.iter().map(claim).collect();
    let claims =
        if claims.is_empty() { claims } else { format!("<ul class=\"claims\">\n{claims}</ul>\n") };
    let figures: String = run
        .figures
        .iter()
        .map(|figure| {
            // Small screens scroll a wide figure rather than shrink its text to nothing.
            let least = (0.78 * figure.width).min(1000.0).round();
            format!(
                "<figure class=\"plot\" style=\"--natural:{}px;--least:{least}px\"><div class=\"scroll\" \
                 role=\"region\" tabindex=\"0\" aria-label=\"{title}\"><div>{}</div></div></figure>\n",
                figure.width,
                figure.markup,
                title = escape(&figure.title),
            )
        })
        .collect();
    let animations: String = run
        .animations
        .iter()
        .map(|animation| {
            let (width, height) = animation.size;
            let name = escape(&animation.name);
            let alt = match animation.name.as_str() {
                EMERGENCE => "P and Q, as colours, while they train".to_owned(),
                _ => format!("Moving picture: {name}"),
            };
            format!(
                "<figure class=\"plot moving\" data-frames=\"{}\"><picture>\
                 <source media=\"(prefers-reduced-motion: reduce)\" srcset=\"{}\" type=\"image/gif\">\
                 <img src=\"{}\" width=\"{width}\" height=\"{height}\" alt=\"{alt}\" loading=\"lazy\">\
                 </picture><figcaption>{alt}.</figcaption></figure>\n",
                animation.frames,
                data_address("image/gif", &animation.still),
                data_address("image/gif", &animation.gif),
            )
        })
        .collect();
    let tables = numbers::tables(&run.numbers);
    let tables = if tables.is_empty() {
        tables
    } else {
        format!("<details class=\"numbers\"><summary>The numbers</summary>\n{tables}</details>\n")
    };
    let changes: Vec<String> = run
        .changes
        .iter()
        .map(|(key, value)| match value {
            Some(value) => format!("{} {}", escape(key), escape(value)),
            None => escape(key),
        })
        .collect();
    // A run at a smaller scale than the paper's must not pass for one at the paper's.
    let mut scale = match changes.is_empty() {
        true => String::new(),
        false => {
            format!("<p class=\"scale\">Other than the defaults: {}.</p>\n", changes.join(", "))
        }
    };
    if let Some(made) = run.made.as_ref().filter(|made| !made.changed.is_empty()) {
        let changed = escape(&made.changed.join(", "));
        scale.push_str(&format!("<p class=\"note\">Not as the run wrote it: {changed}.</p>\n"));
    }
    let made = run.made.as_ref().map_or(String::new(), |made| {
        format!("<p class=\"scale\">Made by {}.</p>\n", escape(&made.by))
    });
    format!(
        "<section id=\"{anchor}\" aria-labelledby=\"{anchor}-title\">\n\
         <h2 id=\"{anchor}-title\">{}</h2>\n{scale}{claims}{figures}{animations}{tables}{}{made}</section>\n",
        escape(run.title()),
        command(&run.repeats),
    )
}

fn claim(claim: &Claim) -> String {
    format!(
        "<li class=\"claim {}\"><div class=\"claim-head\"><h3>{}</h3>{}</div>\n\
         <dl><div><dt>paper</dt><dd>{}</dd></div><div><dt>measured</dt><dd>{}</dd></div></dl></li>\n",
        class(claim.verdict),
        escape(&claim.claim),
        if claim.is_refuted() {
            worded_badge(claim.verdict, "does not hold (as known)")
        } else {
            badge(claim.verdict)
        },
        escape(&claim.paper),
        escape(&claim.measured),
    )
}

fn command(arguments: &str) -> String {
    format!("<p class=\"command\"><code>cargo run -p host -- {}</code></p>\n", escape(arguments))
}

fn digests(content: &Content) -> String {
    let rows: Vec<Vec<String>> = content
        .digests
        .iter()
        .map(|row| {
            let equal = if row.equal { "equal" } else { "NOT EQUAL" };
            let expected = row.expected;
            [row.kernel, &row.digest, expected, equal, row.about].map(str::to_owned).into()
        })
        .collect();
    let equal = content.digests.iter().all(|row| row.equal);
    let says = if equal {
        "every bit of every result was what it is on every other platform"
    } else {
        "this machine computes something else"
    };
    let head = ["kernel", "this machine", "every platform", "", "what it runs"];
    let mut head: Vec<String> = head.map(str::to_owned).into();
    head[3] = "verdict".into();
    let verdict = badge(Verdict::of(equal));
    format!(
        "<section id=\"digests\" aria-labelledby=\"digests-title\">\n\
         <h2 id=\"digests-title\">The same bits everywhere</h2>\n\
         <p>The core promises the same result, bit for bit, on every machine. Each kernel is a part of \
         its work on fixed seeds; all its results go into one digest. On this machine ({} {}): {says}. \
         {verdict}</p>\n{}{}</section>\n",
        std::env::consts::ARCH,
        std::env::consts::OS,
        table("Digests of the core's kernels", &head, &rows),
        command("digest"),
    )
}

fn commands(content: &Content) -> String {
    let rows: Vec<Vec<String>> = content
        .runs
        .iter()
        .map(|run| {
            let command = format!("cargo run -p host -- {}", run.repeats);
            vec![run.title().to_owned(), command, run.records.join(", ")]
        })
        .collect();
    let head = ["what", "command", "records"].map(str::to_owned);
    format!(
        "<section id=\"commands\" aria-labelledby=\"commands-title\">\n\
         <h2 id=\"commands-title\">How to repeat it</h2>\n\
         <p>Equal seeds give equal bits. Each command writes its figures, and the records that they are \
         drawn from, into a directory of its name; <code>cargo run -p host -- report DIR</code> makes \
         this page of them again.</p>\n{}</section>\n",
        table("Commands", &head, &rows),
    )
}

fn footer() -> &'static str {
    "<footer><p>The paper: Jiuqi Wang, Ethan Blaser, Hadi Daneshmand, Shangtong Zhang, \
     <cite>Transformers Can Learn Temporal Difference Methods for In-Context Reinforcement \
     Learning</cite>, ICLR 2025. Set in Inter (SIL Open Font License).</p></footer>\n"
}
