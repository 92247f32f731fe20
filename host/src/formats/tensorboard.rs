//! TensorBoard event files: scalars and pictures over steps.
//!
//! An event file is a sequence of TFRecords (length, checksum of the length, data, checksum of the
//! data), each holding one `Event` message in Protocol Buffers' encoding. Written are only the few
//! fields that TensorBoard shows:
//!
//! ```text
//! Event          { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
//! Summary        { repeated Value value = 1; }
//! Summary.Value  { string tag = 1; float simple_value = 2; Image image = 4; }
//! Summary.Image  { int32 height = 1; int32 width = 2; int32 colorspace = 3; bytes encoded_image_string = 4; }
//! ```
//!
//! TensorBoard finds files whose names contain `tfevents` in any depth below its `--logdir`.

/// The name of a seed's event file.
pub const FILE_NAME: &str = "events.out.tfevents.0.ictd";

/// The content of an event file, event by event. It can be appended to a file as it grows, or written
/// at once: TensorBoard reads up to the last complete event.
#[derive(Clone, Debug)]
pub struct Events {
    bytes: Vec<u8>,
    wall_time: f64,
}

impl Events {
    /// A file that begins at this time, in seconds since 1970, which all its events bear. Equal times and
    /// events make equal bytes.
    pub fn new(wall_time: f64) -> Self {
        let mut events = Events { bytes: Vec::new(), wall_time };
        let mut event = Message::default();
        event.double(1, wall_time);
        event.bytes(3, b"brain.Event:2");
        events.record(&event);
        events
    }

    /// Events to be appended to a file that has begun.
    pub fn continued(wall_time: f64) -> Self {
        Events { bytes: Vec::new(), wall_time }
    }

    /// A number under a tag; slashes in tags make groups.
    pub fn scalar(&mut self, step: u64, tag: &str, value: f32) {
        let mut message = Message::default();
        message.bytes(1, tag.as_bytes());
        message.float(2, value);
        self.summary(step, &message);
    }

    /// A PNG picture under a tag; what does not begin like a PNG is left out.
    pub fn image(&mut self, step: u64, tag: &str, png: &[u8]) {
        let Some((width, height)) = png_size(png) else { return };
        let mut image = Message::default();
        image.integer(1, height.into());
        image.integer(2, width.into());
        // 3 is RGB, 4 is RGB with alpha; it is not used to decode the picture.
        image.integer(3, 4);
        image.bytes(4, png);
        let mut message = Message::default();
        message.bytes(1, tag.as_bytes());
        message.bytes(4, &image.0);
        self.summary(step, &message);
    }

    /// The content so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn summary(&mut self, step: u64, value: &Message) {
        let mut summary = Message::default();
        summary.bytes(1, &value.0);
        let mut event = Message::default();
        event.double(1, self.wall_time);
        event.integer(2, step);
        event.bytes(5, &summary.0);
        self.record(&event);
    }

    fn record(&mut self, event: &Message) {
        let length = (event.0.len() as u64).to_le_bytes();
        self.bytes.extend(length);
        self.bytes.extend(masked_crc(&length).to_le_bytes());
        self.bytes.extend(&event.0);
        self.bytes.extend(masked_crc(&event.0).to_le_bytes());
    }
}

/// A message in Protocol Buffers' encoding.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn key(&mut self, field: u8, wire_type: u8) {
        // Every field number here is below 16, where a key is one byte.
        self.0.push(field << 3 | wire_type);
    }

    fn varint(&mut self, mut x: u64) {
        while x >= 0x80 {
            self.0.push(x as u8 | 0x80);
            x >>= 7;
        }
        self.0.push(x as u8);
    }

    fn integer(&mut self, field: u8, x: u64) {
        self.key(field, 0);
        self.varint(x);
    }

    fn double(&mut self, field: u8, x: f64) {
        self.key(field, 1);
        self.0.extend(x.to_le_bytes());
    }

    fn float(&mut self, field: u8, x: f32) {
        self.key(field, 5);
        self.0.extend(x.to_le_bytes());
    }

    fn bytes(&mut self, field: u8, x: &[u8]) {
        self.key(field, 2);
        self.varint(x.len() as u64);
        self.0.extend(x);
    }
}

/// Width and height from the header of a PNG.
fn png_size(png: &[u8]) -> Option<(u32, u32)> {
    let header = png.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")?;
    let (width, rest) = header.split_first_chunk()?;
    let (height, _) = rest.split_first_chunk()?;
    Some((u32::from_be_bytes(*width), u32::from_be_bytes(*height)))
}

/// TFRecord's checksum: CRC-32C, rotated and offset, because records may hold checksums.
pub fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}
