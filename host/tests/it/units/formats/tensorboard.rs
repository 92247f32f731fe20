use ictd::formats::tensorboard::{Events, masked_crc};

#[test]
fn the_bytes_are_those_of_the_schema() {
    let mut events = Events::new(1.5);
    events.scalar(300, "a/b", 2.0);
    let bytes = events.as_bytes();
    // Event { wall_time: 1.5, file_version: "brain.Event:2" }
    let first = b"\x09\0\0\0\0\0\0\xf8\x3f\x1a\x0dbrain.Event:2";
    assert_eq!(bytes[..8], (first.len() as u64).to_le_bytes());
    assert_eq!(&bytes[12..12 + first.len()], first);
    // Event { wall_time: 1.5, step: 300, summary { value { tag: "a/b", simple_value: 2.0 } } }
    let second = b"\x09\0\0\0\0\0\0\xf8\x3f\x10\xac\x02\x2a\x0c\x0a\x0a\x0a\x03a/b\x15\0\0\0\x40";
    assert!(bytes[16 + first.len() + 12..].starts_with(second));
    assert_eq!(bytes.len(), 2 * 16 + first.len() + second.len());
}

#[test]
fn the_checksum_is_crc32c_masked() {
    // The check value of CRC-32C, and its mask by hand.
    assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(masked_crc(b"123456789"), 0x2507_c60d_u32.wrapping_add(0xa282_ead8));
}

#[test]
fn a_picture_keeps_its_size_and_what_is_none_is_left_out() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x05\0\0\0\x07";
    let mut events = Events::new(0.0);
    let empty = events.as_bytes().len();
    events.image(1, "P", b"JFIF");
    assert_eq!(events.as_bytes().len(), empty);
    events.image(1, "P", png);
    // Image { height: 7, width: 5, colorspace: 4, encoded_image_string: png }
    let image = [b"\x08\x07\x10\x05\x18\x04\x22\x18".as_slice(), png].concat();
    let written = &events.as_bytes()[empty..];
    assert!(written.windows(image.len()).any(|bytes| bytes == image), "{written:x?}");
}
