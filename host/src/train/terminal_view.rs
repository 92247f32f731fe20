//! What a terminal shows while a run trains: a bar, and Q as it emerges.

use crate::run::progress;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use trainer::Point;

/// Time between two pictures.
const FRAME: Duration = Duration::from_millis(300);

/// The view of one run.
pub struct TerminalView {
    bar: ProgressBar,
    view: Option<View>,
}

struct View {
    below: ProgressBar,
    colour: bool,
    dim: usize,
    state: Mutex<State>,
}

struct State {
    drawn: Option<Instant>,
    /// The latest log point of each seed.
    latest: BTreeMap<u64, Point>,
}

impl TerminalView {
    /// A view of so many tasks with d = `dim` features, which is silent if asked for or if stderr is not a
    /// terminal.
    pub fn new(label: &str, dim: usize, tasks: u64, silent: bool) -> Self {
        let bar = progress::bar(label, tasks, silent);
        let view = (!silent && std::io::stderr().is_terminal()).then(|| {
            let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            let below = ProgressBar::new(0).with_style(style);
            all.add(bar.clone());
            all.add(below.clone());
            View {
                below,
                colour: std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
                dim,
                state: Mutex::new(State { drawn: None, latest: BTreeMap::new() }),
            }
        });
        TerminalView { bar, view }
    }

    /// So many tasks were done before.
    pub fn skip(&self, tasks: u64) {
        let len = self.bar.length().unwrap_or_default();
        self.bar.set_length(len.saturating_sub(tasks));
    }

    /// A task of so many seeds is done.
    pub fn advance(&self, seeds: usize) {
        self.bar.inc(seeds as u64);
    }

    /// A seed's new log point.
    pub fn show(&self, seed: u64, point: &Point) {
        let Some(view) = &self.view else { return };
        // A view that another thread is drawing is not worth waiting for.
        let Ok(mut state) = view.state.try_lock() else { return };
        state.latest.insert(seed, point.clone());
        if state.drawn.is_none_or(|t| t.elapsed() >= FRAME) {
            state.drawn = Some(Instant::now());
            view.below.set_message(view.picture(&state.latest));
        }
    }

    /// Clears the view.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
        if let Some(view) = &self.view {
            view.below.finish_and_clear();
        }
    }
}

impl View {
    /// Q of the first stored layer, sign-aligned, averaged over the seeds, divided by its largest
    /// absolute entry, beside a few numbers.
    fn picture(&self, latest: &BTreeMap<u64, Point>) -> String {
        let k = 2 * self.dim + 1;
        let mut mean = vec![0.0; k * k];
        let (mut vd, mut iws, mut loss, mut count) = (0.0, 0.0, 0.0, 0.0_f64);
        for point in latest.values() {
            count += 1.0;
            vd += point.vd;
            iws += point.iws;
            loss += point.loss;
            let Some(layer) = point.layers.first() else { continue };
            for (sum, q) in mean.iter_mut().zip(&layer.q) {
                *sum += layer.element.sign * f64::from(*q);
            }
        }
        let tasks = latest.values().map(|p| p.tasks).max().unwrap_or(0);
        let beside = [
            format!("{tasks} tasks, mean of {count} seeds"),
            format!("loss  {:8.4}", loss / count),
            format!("VD    {:8.4}", vd / count),
            format!("IWS   {:8.4}", iws / count),
        ];
        let largest = mean.iter().fold(0.0_f64, |a, x| a.max(x.abs()));
        let mut out = String::new();
        for (row, cells) in mean.chunks(k).enumerate() {
            out.push_str("  ");
            for x in cells {
                let x = if largest > 0.0 { x / largest } else { 0.0 };
                cell(&mut out, x, self.colour);
            }
            if self.colour {
                out.push_str("\x1b[0m");
            }
            let text = beside.get(row.wrapping_sub(1)).map_or("", String::as_str);
            let _ = writeln!(out, "   {text}");
        }
        out
    }
}

/// One entry in [-1, 1], two characters wide.
fn cell(out: &mut String, x: f64, colour: bool) {
    // Writing to a String cannot fail.
    let _ = if colour {
        let [r, g, b] = figures::colour(x);
        write!(out, "\x1b[48;2;{r};{g};{b}m  ")
    } else {
        let shade = [' ', '.', ':', 'o', '#'][(x.abs() * 4.0).round().min(4.0) as usize];
        let sign = if x < 0.0 && shade != ' ' { '-' } else { ' ' };
        write!(out, "{sign}{shade}")
    };
}
