//! Figures as the frames of a moving picture.

use super::Figure;
use crate::error::Error;
use gif::{Encoder, Frame, Repeat};

/// A GIF of figures of one size, each shown for `centiseconds`, the last one for two seconds more;
/// it repeats for ever.
///
/// # Errors
/// [`Error::Usage`] without frames, if their sizes differ, or beyond 65535 pixels.
pub fn animation(frames: &[Figure], centiseconds: u16) -> Result<Vec<u8>, Error> {
    let refuse = |reason: &dyn std::fmt::Display| Error::Usage(format!("animation: {reason}"));
    let pictures: Vec<_> =
        frames.iter().map(|f| f.scene().to_pixels(&f.title, 1.0)).collect::<Result<_, _>>()?;
    let Some(first) = pictures.first() else { return Err(refuse(&"there are no frames")) };
    let side = |pixels: u32| u16::try_from(pixels).map_err(|e| refuse(&e));
    let (width, height) = (side(first.width())?, side(first.height())?);
    let mut gif = Vec::new();
    let mut encoder = Encoder::new(&mut gif, width, height, &[]).map_err(|e| refuse(&e))?;
    encoder.set_repeat(Repeat::Infinite).map_err(|e| refuse(&e))?;
    for (index, picture) in pictures.iter().enumerate() {
        if (picture.width(), picture.height()) != (first.width(), first.height()) {
            return Err(refuse(&"the frames differ in size"));
        }
        // Opaque, so premultiplied colours are the colours.
        let mut frame = Frame::from_rgba_speed(width, height, &mut picture.data().to_vec(), 10);
        let last = index + 1 == pictures.len();
        frame.delay = centiseconds.saturating_add(if last { 200 } else { 0 });
        encoder.write_frame(&frame).map_err(|e| refuse(&e))?;
    }
    drop(encoder);
    Ok(gif)
}
