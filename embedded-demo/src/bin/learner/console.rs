//! Lines of text. (A formatter of `core::fmt` could panic.)

/// What can stand in a line.
pub(crate) trait Text {
    fn print(self);
}

impl Text for &str {
    fn print(self) {
        self.bytes().for_each(put);
    }
}

impl Text for u32 {
    fn print(self) {
        digits(self, 1);
    }
}

/// A number with three decimals.
impl Text for f32 {
    fn print(self) {
        if self < 0.0 {
            put(b'-');
        }
        let thousandths = (self.abs() * 1000.0 + 0.5) as u32;
        digits(thousandths / 1000, 1);
        put(b'.');
        digits(thousandths % 1000, 3);
    }
}

/// 64 bits in hexadecimal.
impl Text for u64 {
    fn print(self) {
        for place in 0..16 {
            let digit = (self >> (60 - 4 * place)) as u8 & 15;
            put(digit + if digit < 10 { b'0' } else { b'a' - 10 });
        }
    }
}

/// Prints at least so many decimal digits.
fn digits(mut number: u32, least: usize) {
    let mut text = [b'0'; 10];
    for digit in text.iter_mut().rev() {
        *digit += (number % 10) as u8;
        number /= 10;
    }
    let zeros = text.iter().take_while(|digit| **digit == b'0').count();
    text.iter().skip(zeros.min(text.len() - least)).for_each(|digit| put(*digit));
}

/// Prints a line of the texts.
macro_rules! line {
    ($($text:expr),*) => {{
        $($crate::console::Text::print($text);)*
        $crate::console::put(b'\n');
    }};
}
pub(crate) use line;

#[cfg(target_os = "none")]
pub(crate) fn put(character: u8) {
    semihosting::sys::arm_compat::sys_writec(character);
}

#[cfg(not(target_os = "none"))]
pub(crate) fn put(character: u8) {
    print!("{}", char::from(character));
}
