//! Command lines for messages, and text of unknown origin made safe for a terminal.

pub use tables::is_hidden;

/// Returns a command line: the program's name and the arguments, which are quoted for a shell already.
pub fn call(arguments: &str) -> String {
    // `cargo run` says so in the environment.
    let cargo = std::env::var_os("CARGO").is_some();
    format!("{} {arguments}", if cargo { "cargo run -p host --" } else { "ictd" })
}

pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if word.chars().any(is_hidden) {
        // Characters that `printable` would replace are written in the notation of bash, zsh and POSIX since 2024.
        let byte = |b: u8| match b {
            b'\'' | b'\\' => format!("\\{}", b as char),
            b' '..=b'~' => char::from(b).to_string(),
            _ => format!("\\{b:03o}"),
        };
        format!("$'{}'", word.bytes().map(byte).collect::<String>())
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Returns text of unknown origin with its hidden characters escaped, `\u{1b}` for ESC, except line breaks.
pub fn printable(text: &str) -> String {
    escaped(text, |c| c.escape_unicode().collect())
}

/// Returns JSON of the same value with such characters escaped.
pub fn printable_json(json: &str) -> String {
    // They occur only in strings; JSON escapes those of ASCII except DEL itself.
    escaped(json, |c| c.encode_utf16(&mut [0; 2]).iter().map(|x| format!("\\u{x:04x}")).collect())
}

fn escaped(text: &str, escape: fn(char) -> String) -> String {
    let is_shown = |c: char| !is_hidden(c) || c == '\n';
    if text.chars().all(is_shown) {
        return text.to_owned();
    }
    text.chars().map(|c| if is_shown(c) { c.to_string() } else { escape(c) }).collect()
}
