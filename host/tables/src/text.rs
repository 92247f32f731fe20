//! Pieces of files in messages.

/// The largest number of characters of a piece of a file in a message.
const SHOWN: usize = 40;

/// Returns true for characters that control a terminal, or that hide or reorder the text around them.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns the beginning of a text in one printable line of at most 40 characters, with hidden characters escaped.
pub fn excerpt(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(SHOWN + 1) {
        match c {
            '\n' => out.push(' '),
            c if is_hidden(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    shortened(&out, SHOWN)
}

/// Returns a text, or its beginning with an ellipsis if it has more than `most` characters.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
