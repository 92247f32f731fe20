//! How this program is called, in what it tells its user to type.

/// A command line: the program's name before the arguments, which are words for a shell already.
pub fn call(arguments: &str) -> String {
    // `cargo run` says so in the environment.
    let cargo = std::env::var_os("CARGO").is_some();
    format!("{} {arguments}", if cargo { "cargo run -p host --" } else { "ictd" })
}

/// A word for a shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
