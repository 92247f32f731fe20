//! A run on the page: its claims, pictures and numbers.

use super::numbers;
use super::run::{Run, anchor};
use super::verdict::{badge, class, worded_badge};
use crate::program;
use crate::run::report::Claim;
use figures::{Figure, Panel, Picture};
use maud::{Markup, PreEscaped, html};
use serde_json::json;

pub(super) fn section(run: &Run) -> Markup {
    let id = run.anchor();
    let title = format!("{id}-title");
    let changes: Vec<String> = run
        .changes
        .iter()
        .map(|(key, value)| value.as_ref().map_or(key.clone(), |value| format!("{key} {value}")))
        .collect();
    let changed = run.made.as_ref().map_or(&[][..], |made| &made.changed);
    let tables = numbers::tables(&run.numbers);
    html! {
        section id=(id) aria-labelledby=(title) {
            h2 id=(title) { (run.title()) }
            // A run at a smaller scale than the paper's must not pass for one at the paper's.
            @if !changes.is_empty() {
                p.scale { "Other than the defaults: " (changes.join(", ")) "." }
            }
            @if !changed.is_empty() {
                p.note { "Not as the run wrote it: " (changed.join(", ")) "." }
            }
            @if !run.claims.is_empty() {
                ul.claims { @for one in &run.claims { (claim(one)) } }
            }
            @for (name, one) in &run.pictures {
                (picture(one, &anchor(&format!("{}-{name}", run.name))))
            }
            @if !tables.0.is_empty() {
                details.numbers { summary { "The numbers" } (tables) }
            }
            (command(&run.repeats))
            @if let Some(made) = &run.made { p.scale { "Made by " (made.by) "." } }
        }
    }
}

fn claim(claim: &Claim) -> Markup {
    html! {
        li.claim.(class(claim.verdict)) {
            div.claim-head {
                h3 { (claim.claim) }
                @if claim.is_refuted() {
                    (worded_badge(claim.verdict, "does not hold (as known)"))
                } @else {
                    (badge(claim.verdict))
                }
            }
            dl {
                div { dt { "paper" } dd { (claim.paper) } }
                div { dt { "measured" } dd { (claim.measured) } }
            }
        }
    }
}

/// A figure, or the last of a moving picture, whose other frames the page's script shows in its place.
fn picture(picture: &Picture, id: &str) -> Markup {
    let (figure, frames) = match picture {
        Picture::Still(figure) => (Some(figure), None),
        Picture::Moving(frames) => (frames.last(), Some(cells(frames))),
    };
    let Some(figure) = figure else { return Markup::default() };
    let natural = figure.width();
    // Small screens scroll a wide figure rather than shrink its text to nothing.
    let least = (0.78 * natural).min(1000.0).round();
    html! {
        figure.plot.moving[frames.is_some()] data-frames=[&frames]
            style={ "--natural:" (natural) "px;--least:" (least) "px" } {
            div.scroll role="region" tabindex="0" aria-label=(figure.title) {
                div { (PreEscaped(figure.to_element(id))) }
            }
            @if frames.is_some() { figcaption { "P and Q, as colours, while they train." } }
        }
    }
}

/// Each frame's title and the cells of its matrices, in hundredths and in the order in which they are drawn.
pub fn cells(frames: &[Figure]) -> String {
    let hundredths = |x: f64| x.is_finite().then(|| (100.0 * x).round() as i64);
    let frame = |figure: &Figure| {
        let matrices = figure.panels.iter().filter_map(|panel| match panel {
            Panel::Heatmap(heatmap) => Some(&heatmap.rows),
            Panel::Curves(_) => None,
        });
        let cells: Vec<_> = matrices.flatten().flatten().map(|x| hundredths(*x)).collect();
        json!([figure.title, cells])
    };
    json!(frames.iter().map(frame).collect::<Vec<_>>()).to_string()
}

/// The command line with these arguments.
pub(super) fn command(arguments: &str) -> Markup {
    html! { p.command { code { (program::call(arguments)) } } }
}
