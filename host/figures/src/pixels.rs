//! A scene as pixels, and those as PNG.

use crate::scene::{Anchor, DASH, Item, Point, Scene, Size};
use crate::style::Colour;
use crate::{Error, font};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;
use tiny_skia::{
    FillRule, LineCap, LineJoin, Mask, Paint, PathBuilder, Pixmap, Rect, Stroke, StrokeDash,
    Transform,
};

/// A quarter turn to the left. `Transform::from_rotate` would ask the platform for its sine.
const UPWARD: Transform = Transform { sx: 0.0, ky: -1.0, kx: 1.0, sy: 0.0, tx: 0.0, ty: 0.0 };

/// The most pixels of a picture: beyond them it is drawn smaller, so that the number of panels, which may
/// come from elsewhere, does not decide how much memory a picture takes.
const MOST: f64 = 1e8;

impl Scene {
    /// Returns the page in pixels, `zoom` of them for one of the page's.
    pub(crate) fn to_pixels(&self, zoom: f64) -> Result<Pixmap, Error> {
        let zoom = zoom.min((MOST / (self.width * self.height)).sqrt());
        let pixels = |length: f64| (length * zoom).round() as u32;
        let mut page =
            Pixmap::new(pixels(self.width), pixels(self.height)).ok_or(Error::TooLarge)?;
        let [r, g, b] = Colour::Paper.rgb();
        page.fill(tiny_skia::Color::from_rgba8(r, g, b, 255));
        let transform = Transform::from_scale(zoom as f32, zoom as f32);
        let mut clip = None;
        for item in &self.items {
            match item {
                Item::Clip { at, size } => {
                    clip = Mask::new(page.width(), page.height());
                    if let (Some(mask), Some(area)) = (&mut clip, rect(*at, *size)) {
                        let area = PathBuilder::from_rect(area);
                        mask.fill_path(&area, FillRule::Winding, true, transform);
                    }
                }
                Item::EndClip => clip = None,
                item => item.paint(&mut page, transform, clip.as_ref()),
            }
        }
        Ok(page)
    }

    /// Returns the page as PNG.
    pub(crate) fn to_png(&self, zoom: f64) -> Result<Vec<u8>, Error> {
        let page = self.to_pixels(zoom)?;
        // The paper is opaque, and so is all that lies on it.
        let rgb: Vec<u8> = page.data().chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
        png(page.width(), page.height(), &rgb)
    }
}

/// Returns pixels as PNG: red, green and blue of each, row by row. Filter and level are ours, as a library's
/// defaults may change; the compressor is the one that the workspace's `flate2` names.
/// Errors: [`Error::Encoding`], also if the numbers of pixels and of bytes do not fit together.
pub fn png(width: u32, height: u32, rgb: &[u8]) -> Result<Vec<u8>, Error> {
    let row = 3 * width as usize;
    if row == 0 || rgb.len() != row * height as usize {
        return Err(Error::Encoding(format!("{} bytes for {width} x {height} pixels", rgb.len())));
    }
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    // Eight bits a channel, red, green and blue, and the only compression, filters and order of rows.
    header.extend([8, 2, 0, 0, 0]);
    chunk(&mut file, b"IHDR", &header);
    let mut pixels = ZlibEncoder::new(Vec::new(), Compression::new(9));
    let failed = |e: std::io::Error| Error::Encoding(e.to_string());
    for row in rgb.chunks(row) {
        // No filter.
        pixels.write_all(&[0]).and_then(|()| pixels.write_all(row)).map_err(failed)?;
    }
    chunk(&mut file, b"IDAT", &pixels.finish().map_err(failed)?);
    chunk(&mut file, b"IEND", &[]);
    Ok(file)
}

/// Appends a chunk: its length, its name, its bytes, and the checksum of both.
fn chunk(file: &mut Vec<u8>, name: &[u8; 4], bytes: &[u8]) {
    file.extend((bytes.len() as u32).to_be_bytes());
    let begin = file.len();
    file.extend(name);
    file.extend(bytes);
    file.extend(crc32fast::hash(&file[begin..]).to_be_bytes());
}

impl Item {
    fn paint(&self, page: &mut Pixmap, transform: Transform, clip: Option<&Mask>) {
        let mut place = transform;
        let (outline, fill, opacity) = match self {
            Item::Rect { at, size, fill } => {
                if let Some(area) = rect(*at, *size) {
                    page.fill_rect(area, &paint(*fill, 1.0), transform, clip);
                }
                return;
            }
            Item::Line { points, stroke, width, dashed } => {
                if let Some(path) = path(points, false) {
                    let stroked = Stroke {
                        width: *width as f32,
                        line_cap: LineCap::Butt,
                        line_join: LineJoin::Round,
                        dash: dashed.then(|| StrokeDash::new(DASH.to_vec(), 0.0)).flatten(),
                        ..Default::default()
                    };
                    page.stroke_path(&path, &paint(*stroke, 1.0), &stroked, transform, clip);
                }
                return;
            }
            Item::Polygon { points, fill, opacity } => (path(points, true), *fill, *opacity),
            Item::Circle { centre: (x, y), radius, fill } => {
                (PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32), *fill, 1.0)
            }
            Item::Text { at: (x, y), upward, text, anchor, style } => {
                let back = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => 0.5 * font::width(text, style),
                    Anchor::End => font::width(text, style),
                };
                place = transform.pre_translate(*x as f32, *y as f32);
                if *upward {
                    place = place.pre_concat(UPWARD);
                }
                place = place.pre_translate(-back as f32, 0.0);
                (font::outline(text, style), style.colour, 1.0)
            }
            Item::Clip { .. } | Item::EndClip => return,
        };
        if let Some(outline) = outline {
            page.fill_path(&outline, &paint(fill, opacity), FillRule::Winding, place, clip);
        }
    }
}

fn paint(colour: Colour, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Default::default() };
    let [r, g, b] = colour.rgb();
    paint.set_color_rgba8(r, g, b, (255.0 * opacity).round() as u8);
    paint
}

fn rect((x, y): Point, (w, h): Size) -> Option<Rect> {
    Rect::from_xywh(x as f32, y as f32, w as f32, h as f32)
}

fn path(points: &[Point], closed: bool) -> Option<tiny_skia::Path> {
    let mut builder = PathBuilder::new();
    let (first, others) = points.split_first()?;
    builder.move_to(first.0 as f32, first.1 as f32);
    others.iter().for_each(|(x, y)| builder.line_to(*x as f32, *y as f32));
    if closed {
        builder.close();
    }
    builder.finish()
}

#[cfg(test)]
mod tests {
    use crate::{Figure, Heatmap, Panel};

    #[test]
    fn a_picture_of_many_panels_does_not_fill_the_memory() {
        let panel = Panel::Heatmap(Heatmap { rows: vec![vec![0.5]], ..Default::default() });
        let figure = Figure { panels: vec![panel; 2000], columns: 1, ..Default::default() };
        let scene = figure.scene();
        assert!(scene.width * scene.height > 1.5e8);
        let page = scene.to_pixels(2.0).unwrap();
        assert!(f64::from(page.width()) * f64::from(page.height()) < 1.01e8);
    }
}
