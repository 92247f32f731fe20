//! A run on the page: its claims, pictures and numbers.

use super::content::{RunPage, anchor};
use super::html::{tag, text};
use super::numbers;
use super::words::{VERDICTS, badge, in_words, shown};
use crate::program;
use crate::run::report::Claim;
use figures::{Figure, Panel};
use serde_json::json;

pub(super) fn section(run: &RunPage) -> String {
    let id = run.anchor();
    let change = |(key, value): &(String, Option<String>)| match value {
        Some(value) => format!("{key} {value}"),
        None => key.clone(),
    };
    let changes: Vec<String> = run.changes.iter().map(change).collect();
    let mut out = tag(&format!("h2 id=\"{id}-title\""), text(run.title()));
    // A run at a smaller scale than the paper's must not pass for one at the paper's.
    if !changes.is_empty() {
        let changes = text(changes.join(", "));
        out += &tag("p class=\"scale\"", format!("Other than the defaults: {changes}."));
    }
    if let Some(made) = run.made.as_ref().filter(|made| !made.changed.is_empty()) {
        let changed = text(made.changed.join(", "));
        out += &tag("p class=\"note\"", format!("Not as the run wrote it: {changed}."));
    }
    if run.withheld {
        let why = "No verdicts: by its run.json, results.json is not what the run wrote.";
        out += &tag("p class=\"note\"", why);
    }
    let claims = &run.results.claims;
    if !claims.is_empty() {
        out += &tag("p", text(verdicts(run)));
    }
    for (name, one) in &run.figures {
        out += &figure(one, &anchor(&format!("{}-{name}", run.name)), &[]);
    }
    if let Some(last) = run.frames.last() {
        out += &figure(last, &anchor(&format!("{}-emergence", run.name)), &run.frames);
    }
    if !claims.is_empty() {
        let list = tag("ul class=\"claims\"", claims.iter().map(claim).collect::<String>());
        out += &tag("details", tag("summary", "The claims, as measured") + &list);
    }
    let tables = numbers::tables(&run.results.numbers);
    if !tables.is_empty() {
        out += &tag("details", tag("summary", "The numbers") + &tables);
    }
    out += &command(&run.repeats);
    if let Some(made) = &run.made {
        out += &tag("p class=\"scale\"", format!("Made by {}.", text(&made.by)));
    }
    tag(&format!("section id=\"{id}\" aria-labelledby=\"{id}-title\""), out)
}

/// Returns the sentence that counts the claims of a run by verdict.
fn verdicts(run: &RunPage) -> String {
    let total = run.results.claims.len();
    let count = |verdict| {
        let count = run.count(verdict);
        let [_, one, several] = shown(verdict);
        (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { several }))
    };
    let counts: Vec<_> = VERDICTS.into_iter().filter_map(count).collect();
    format!("Of {total} {}, {}.", if total == 1 { "claim" } else { "claims" }, counts.join(", "))
}

fn claim(claim: &Claim) -> String {
    let words = claim.is_refuted().then_some("does not hold (as known)");
    let head = tag("h3", text(&claim.claim)) + &badge(claim.verdict, words);
    let row = |name: &str, said: &str| tag("div", tag("dt", name) + &tag("dd", text(said)));
    let rows = row("paper", &claim.paper) + &row("measured", &in_words(&claim.measured));
    let content = tag("div class=\"claim-head\"", head) + &tag("dl", rows);
    tag(&format!("li class=\"claim {}\"", shown(claim.verdict)[0]), content)
}

/// Returns a figure; of several frames it is the last one, which the page's script replaces by the others.
fn figure(figure: &Figure, id: &str, frames: &[Figure]) -> String {
    let (moving, data, caption) = match frames {
        [] => ("", String::new(), String::new()),
        frames => (
            " moving",
            format!(" data-frames=\"{}\"", text(cells(frames))),
            tag("p", "P and Q, as colours, while they train."),
        ),
    };
    let subtitle = tag("span", text(&figure.subtitle));
    let title = tag("b class=\"title\"", text(&figure.title));
    let mut elements = figure.to_elements(id).into_iter();
    let row =
        |count| tag("div class=\"panels\"", elements.by_ref().take(count).collect::<String>());
    let panels: String = rows(figure.panels.len(), figure.columns).into_iter().map(row).collect();
    let content = tag("figcaption", title + " " + &subtitle) + &panels + &caption;
    tag(&format!("figure class=\"plot{moving}\"{data}"), content)
}

/// Returns the number of panels in each row of a page, at most three; none stands alone below others.
pub fn rows(panels: usize, columns: usize) -> Vec<usize> {
    if columns > 3 && panels.is_multiple_of(columns) {
        return rows(columns, 3).repeat(panels / columns);
    }
    let columns = columns.clamp(1, 3);
    let count = panels.div_ceil(if columns > 1 && panels % columns == 1 { 3 } else { columns });
    (0..count).map(|row| panels / count + usize::from(row < panels % count)).collect()
}

/// Returns each frame's title and the cells of each of its matrices, in hundredths, in drawing order.
pub fn cells(frames: &[Figure]) -> String {
    let hundredths = |x: f64| x.is_finite().then(|| (100.0 * x).round() as i64);
    let frame = |figure: &Figure| {
        let matrices = figure.panels.iter().filter_map(|panel| match panel {
            Panel::Heatmap(heatmap) => Some(&heatmap.rows),
            Panel::Curves(_) => None,
        });
        let of_matrix = |rows: &Vec<Vec<f64>>| -> Vec<_> {
            rows.iter().flatten().map(|x| hundredths(*x)).collect()
        };
        let cells: Vec<_> = matrices.map(of_matrix).collect();
        json!([figure.title, cells])
    };
    json!(frames.iter().map(frame).collect::<Vec<_>>()).to_string()
}

pub(super) fn command(arguments: &str) -> String {
    tag("p class=\"command\"", tag("code", text(program::call(arguments))))
}
