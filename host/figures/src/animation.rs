//! Figures as the frames of a moving picture.

use crate::{Error, Figure};
use gif::{Encoder, Frame, Repeat};
use std::collections::BTreeMap;

/// A GIF of figures of one size, each shown for `centiseconds`, the last one for two seconds more;
/// it repeats for ever.
/// Errors: [`Error::NoFrames`], [`Error::FramesDiffer`], or [`Error::TooLarge`] beyond 65535
/// pixels.
pub fn animation(frames: &[Figure], centiseconds: u16) -> Result<Vec<u8>, Error> {
    let encoding = |e: gif::EncodingError| Error::Encoding(e.to_string());
    let pictures: Vec<_> =
        frames.iter().map(|f| f.scene().to_pixels(1.0)).collect::<Result<_, _>>()?;
    let first = pictures.first().ok_or(Error::NoFrames)?;
    let size = (first.width(), first.height());
    let side = |pixels: u32| u16::try_from(pixels).map_err(|_| Error::TooLarge);
    let (width, height) = (side(size.0)?, side(size.1)?);
    let mut gif = Vec::new();
    let mut encoder = Encoder::new(&mut gif, width, height, &[]).map_err(encoding)?;
    encoder.set_repeat(Repeat::Infinite).map_err(encoding)?;
    for (index, picture) in pictures.iter().enumerate() {
        if (picture.width(), picture.height()) != size {
            return Err(Error::FramesDiffer);
        }
        let (palette, pixels) = reduce(picture.data());
        let mut frame = Frame::from_palette_pixels(width, height, pixels, palette, None);
        let last = index + 1 == pictures.len();
        frame.delay = centiseconds.saturating_add(if last { 200 } else { 0 });
        encoder.write_frame(&frame).map_err(encoding)?;
    }
    drop(encoder);
    Ok(gif)
}

/// Colours whose channels differ by no more than this look the same.
const ALIKE: u8 = 4;

/// A palette of 256 colours, and each pixel's place in it: the most frequent colours first, those that look
/// the same left out as long as others wait, so that the shades at the edges of letters do not take the
/// places of the colour bar; all else is shown as the nearest.
fn reduce(rgba: &[u8]) -> (Vec<u8>, Vec<u8>) {
    // Opaque, so premultiplied colours are the colours.
    let colours = || rgba.chunks_exact(4).map(|pixel| [pixel[0], pixel[1], pixel[2]]);
    let mut counts: BTreeMap<[u8; 3], usize> = BTreeMap::new();
    colours().for_each(|colour| *counts.entry(colour).or_default() += 1);
    let mut by_count: Vec<_> = counts.iter().map(|(colour, count)| (*count, *colour)).collect();
    by_count.sort_unstable_by(|a, b| b.cmp(a));
    let (mut palette, mut waiting) = (Vec::new(), Vec::new());
    for (_, colour) in by_count {
        let is_new = palette.iter().all(|known| difference(*known, colour) > ALIKE);
        if is_new { palette.push(colour) } else { waiting.push(colour) }
    }
    palette.extend(waiting);
    palette.truncate(256);
    let nearest = |colour: [u8; 3]| {
        (0..=255).zip(&palette).min_by_key(|(_, known)| difference(**known, colour))
    };
    let places: BTreeMap<[u8; 3], u8> = counts
        .keys()
        .filter_map(|colour| nearest(*colour).map(|(place, _)| (*colour, place)))
        .collect();
    let pixels = colours().filter_map(|colour| places.get(&colour).copied()).collect();
    (palette.concat(), pixels)
}

/// The largest difference of a channel.
fn difference(a: [u8; 3], b: [u8; 3]) -> u8 {
    a.iter().zip(b).map(|(a, b)| a.abs_diff(b)).fold(0, u8::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Heatmap, Panel, style};

    #[test]
    fn cells_and_colour_bar_look_the_same() {
        let value = |i: usize| ((i * 7919) % 2001) as f64 / 1000.0 - 1.0;
        let matrix = |k: usize| -> Vec<Vec<f64>> {
            (0..9).map(|i| (0..9).map(|j| value(81 * k + 9 * i + j)).collect()).collect()
        };
        let title = || "P and Q of the first layer".to_owned();
        let heatmap =
            |k| Heatmap { title: title(), rows: matrix(k), blocks: vec![4, 8], colour_bar: k == 1 };
        let panels = vec![Panel::Heatmap(heatmap(0)), Panel::Heatmap(heatmap(1))];
        let subtitle = "mean over seeds, sign-aligned, divided by the largest entry".into();
        let figure = Figure { title: title(), subtitle, panels, columns: 2 };
        let picture = figure.scene().to_pixels(1.0).unwrap();
        let (palette, pixels) = reduce(picture.data());
        assert!(palette.len() <= 3 * 256 && pixels.len() * 4 == picture.data().len());
        let shown =
            |place: u8| -> [u8; 3] { std::array::from_fn(|i| palette[3 * usize::from(place) + i]) };
        let off = picture.data().chunks_exact(4).zip(pixels);
        let off: Vec<u8> =
            off.map(|(p, place)| difference([p[0], p[1], p[2]], shown(place))).collect();
        let within =
            |most: u8| off.iter().filter(|x| **x <= most).count() as f64 / off.len() as f64;
        let worst = off.iter().max().unwrap();
        println!("{} of the pixels exact, {} alike, all within {worst}", within(0), within(ALIKE));
        assert!(within(ALIKE) > 0.998 && *worst <= 8, "{worst}");
        let off = |x: f64| {
            let known = palette.chunks_exact(3).map(|c| [c[0], c[1], c[2]]);
            known.map(|known| difference(known, style::diverging(x))).min().unwrap()
        };
        // At the bar's ends the frame's line runs over the colour.
        let bar = (0..=100).map(|i| off(1.0 - i as f64 / 50.0)).max().unwrap();
        println!("the colour bar within {bar}");
        assert!(bar <= 8, "{bar} on the colour bar");
        for x in matrix(0).concat() {
            assert!(off(x) <= ALIKE, "{x} in a cell: {}", off(x));
        }
    }
}
