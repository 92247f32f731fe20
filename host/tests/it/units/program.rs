use ictd::error::Error;
use ictd::program::{printable, printable_json, quoted};

#[test]
fn a_shell_reads_a_quoted_word_back() {
    let marks = ["$(x) `y` \"z\" \\", "esc\u{1b}[31m\nline\t'\\", "ä\u{202e}"];
    for word in ["a", "two  spaces", "it's", ""].into_iter().chain(marks) {
        let output = std::process::Command::new("bash")
            .args(["-c", &format!("printf %s {}", quoted(word))])
            .output()
            .expect("bash starts");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        assert_eq!(printable(&quoted(word)), quoted(word), "a suggestion is printed as it is");
    }
}

#[test]
fn nothing_that_a_terminal_obeys_is_printed() {
    assert_eq!(printable("a\u{1b}[2Jb\u{9b}c\rd\ne"), "a\\u{1b}[2Jb\\u{9b}c\\u{d}d\ne");
    assert_eq!(printable("safe\u{202e}cod.exe"), "safe\\u{202e}cod.exe");
    assert_eq!(printable_json("{\"a\":\"\u{9b}\u{7f}\"}"), "{\"a\":\"\\u009b\\u007f\"}");
}

#[test]
fn a_message_is_short_whatever_it_quotes() {
    for text in ["\u{1b}".repeat(1 << 16), "x".repeat(1 << 16), "\u{202e}é".repeat(300)] {
        let error = Error::option("--name", format!("{text}; expected a word"));
        let line = error.one_line();
        assert!(line.chars().count() <= 290 && !line.contains('\u{1b}'), "{line}");
        assert!(line.starts_with("--name: ") && line.ends_with("; expected a word"), "{line}");
    }
}
