//! The moving picture of a run inside a page.

use crate::experiments::learning::MatrixRow;
use std::collections::BTreeMap;
use std::io::Cursor;

/// A GIF and its last frame, for readers who prefer that nothing moves.
#[derive(Clone, Debug)]
pub struct Animation {
    /// The file's name without ending.
    pub name: String,
    /// The GIF.
    pub gif: Vec<u8>,
    /// Its last frame, a GIF too.
    pub still: Vec<u8>,
    /// In pixels.
    pub size: (u16, u16),
    /// What `frames` gives, if the pictures are of P and Q.
    pub frames: String,
}

/// Reads a GIF.
///
/// # Errors
/// The reason, if it is none, or holds no frame.
pub(super) fn animation(name: &str, gif: Vec<u8>) -> Result<Animation, String> {
    let refuse = |e: &dyn std::fmt::Display| format!("{e}; accepted is GIF");
    let mut decoder = gif::DecodeOptions::new();
    // Our frames are whole pictures with palettes of their own: no need to compose them.
    decoder.set_memory_limit(gif::MemoryLimit::Bytes(
        std::num::NonZeroU64::new(256 << 20).unwrap_or(std::num::NonZeroU64::MIN),
    ));
    let mut decoder = decoder.read_info(Cursor::new(&gif)).map_err(|e| refuse(&e))?;
    let size = (decoder.width(), decoder.height());
    let mut last = None;
    while let Some(frame) = decoder.read_next_frame().map_err(|e| refuse(&e))? {
        last = Some(frame.clone());
    }
    let last = last.ok_or_else(|| refuse(&"there is no frame"))?;
    let mut still = Vec::new();
    let mut encoder = gif::Encoder::new(&mut still, size.0, size.1, &[]).map_err(|e| refuse(&e))?;
    encoder.write_frame(&last).map_err(|e| refuse(&e))?;
    drop(encoder);
    Ok(Animation { name: name.to_owned(), gif, still, size, frames: String::new() })
}

/// Entries by row and column.
type Entries = BTreeMap<(usize, usize), f64>;

/// P and Q of the first stored layer at each time, for a reader who moves through the training:
/// `tasks;P;Q|tasks;P;Q|..`, entries row by row, in hundredths of the largest.
pub(super) fn frames(rows: &[MatrixRow]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let mut times: BTreeMap<u64, [Entries; 2]> = BTreeMap::new();
    for row in rows.iter().filter(|r| r.run == first.run && r.layer == 0) {
        let of = usize::from(row.matrix != "P");
        times.entry(row.tasks).or_default()[of].insert((row.row, row.column), row.value);
    }
    let numbers = |entries: &Entries| {
        let largest = entries.values().fold(0.0_f64, |a, x| a.max(x.abs()));
        let share = |x: &f64| if largest > 0.0 { (100.0 * x / largest).round() } else { 0.0 };
        // Adding 0 makes -0 a 0.
        let words: Vec<_> = entries.values().map(|x| (share(x) + 0.0).to_string()).collect();
        words.join(" ")
    };
    let frame =
        |(tasks, [p, q]): (&u64, &[Entries; 2])| format!("{tasks};{};{}", numbers(p), numbers(q));
    times.iter().map(frame).collect::<Vec<_>>().join("|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{self, Figure, Heatmap, Panel};

    fn pictures() -> Vec<Figure> {
        let figure = |x: f64| {
            let heatmap = Heatmap { rows: vec![vec![x; 2]; 2], ..Default::default() };
            Figure { panels: vec![Panel::Heatmap(heatmap)], ..Default::default() }
        };
        vec![figure(-1.0), figure(0.0), figure(1.0)]
    }

    #[test]
    fn frames_are_in_order_row_by_row_and_scaled_to_the_largest_entry() {
        let row = |tasks, matrix: &str, row, column, value| MatrixRow {
            run: "r".into(),
            tasks,
            layer: 0,
            matrix: matrix.into(),
            row,
            column,
            value,
        };
        let mut rows = Vec::new();
        for tasks in [20, 10] {
            for (i, value) in [1.0, -2.0, 0.0, 4.0].into_iter().enumerate() {
                rows.push(row(tasks, "P", i / 2, i % 2, value * tasks as f64));
                rows.push(row(tasks, "Q", i / 2, i % 2, 0.0));
            }
        }
        rows.push(MatrixRow { layer: 1, ..row(30, "P", 0, 0, 1.0) });
        rows.push(MatrixRow { run: "s".into(), ..row(40, "P", 0, 0, 1.0) });
        assert_eq!(frames(&rows), "10;25 -50 0 100;0 0 0 0|20;25 -50 0 100;0 0 0 0");
        assert_eq!(frames(&[]), "");
    }

    #[test]
    fn the_still_picture_is_the_last_frame() {
        let moving = animation("a", figures::animation(&pictures(), 5).unwrap()).unwrap();
        let pixels = |gif: &[u8]| {
            let mut options = gif::DecodeOptions::new();
            options.set_color_output(gif::ColorOutput::RGBA);
            let mut decoder = options.read_info(gif).unwrap();
            let mut all = Vec::new();
            while let Some(frame) = decoder.read_next_frame().unwrap() {
                all.push(frame.buffer.to_vec());
            }
            all
        };
        let (all, still) = (pixels(&moving.gif), pixels(&moving.still));
        assert_eq!((all.len(), still.len()), (3, 1));
        assert_eq!(still[0], all[2]);
        assert_ne!(still[0], all[0]);
        assert!(moving.size.0 > 0 && moving.size.1 > 0);
    }

    #[test]
    fn a_damaged_picture_is_refused_or_shown() {
        let gif = figures::animation(&pictures(), 5).unwrap();
        // The decoder refuses what would take too much memory; nothing panics.
        let mut damaged = gif.clone();
        for byte in 0..gif.len().min(1500) {
            for bit in 0..8 {
                damaged[byte] ^= 1 << bit;
                if let Ok(read) = animation("a", damaged.clone()) {
                    assert!(!read.still.is_empty());
                }
                damaged[byte] ^= 1 << bit;
            }
        }
        for bad in [&gif[..3], &gif[..gif.len() / 2], b"PNG", b""] {
            assert!(animation("a", bad.to_vec()).is_err());
        }
    }
}
