//! Strict tables: what is read, and that each refusal is one short line that says what to do.

use crate::common::*;
use crate::predict::{csv, predict, predictions, predictions_of_x, signal};

const PANDAS: &str =
    "read it with `pandas.read_csv`, then use `ictd.Predictor` or `ictd.Model.values`";

#[test]
fn what_is_no_strict_table_is_refused_in_one_short_line() {
    let here = &Folder::new();
    let cell = |text: &str, cell: &str| {
        (
            text.to_owned(),
            format!("row 1 (line 2), column `x`: `{cell}` is no finite number; {PANDAS}"),
        )
    };
    let text = |text: &str, said: &str| (text.to_owned(), said.to_owned());
    let cases = [
        cell("when,x\n5,2024-01-01 10:00\n", "2024-01-01 10:00"),
        cell("x,y\n\"0,5\",1\n", "0,5"),
        text("x\n0,5\n", "row 1 (line 2): 2 cells; expected 1, as in line 1; read it with"),
        text("a;b\n1;2\n", "row 1 (line 2), column `a;b`: `1;2` is no finite number; read it with"),
        cell("x\nunavailable\n", "unavailable"),
        cell("x\n#N/A\n", "#N/A"),
        cell("x\n21.5 °C\n", "21.5 °C"),
        cell("x\n\"1,234.5\"\n", "1,234.5"),
        cell("x\ninf\n", "inf"),
        cell("x\n1e400\n", "1e400"),
        cell("x\n\u{1b}[2J\u{202e}\n", "\\u{1b}[2J\\u{202e}"),
        text("x\n\"1\n2\n", "line 2: a quote that is not closed in its line; read it with"),
        text("x\n\"1\"2\n", "line 2: text after a quote; read it with"),
        text("x\n1\0\n", "line 2: a NUL byte (a damaged file, or UTF-16); expected UTF-8"),
        text(&"\0".repeat(100_000), "line 1: a NUL byte"),
        text("x\0\n\x001\0\n\0", "line 1: a NUL byte (a damaged file, or UTF-16)"),
        text("x,y\n1,2\n3\n", "row 2 (line 3): 1 cells; expected 2, as in line 1"),
        text("x,y\n1,2\n\n3,4\n", "row 2 (line 3): 1 cells; expected 2"),
        text("", "line 1: the file is empty; expected a header line"),
        text("x,x\n1,2\n", "header, column 2: `x` is there twice"),
        text(
            "1\n2\n",
            "header, column 1: its name `1` is a number; expected a header line, or --no-header",
        ),
        text(",x\n0,1\n", "header, column 1: no name; expected one for each column (pandas:"),
        text("# a comment\nx,y\n1,2\n", "row 1 (line 2): 2 cells; expected 1"),
        text(&format!("{}\n1\n", "x".repeat(201)), "a name of 201 bytes; expected at most 200"),
        text(&format!("x\n{}\n", "a".repeat(5000)), "aaaa…` is no finite number; read it with"),
        text(&format!("x\n{}\n", "\u{1b}".repeat(500)), "\\u{1…` is no finite number"),
        text(&format!("x\n{}", "1".repeat(1 << 21)), "line 2: more than 1048576 bytes"),
    ];
    let bytes = cases.into_iter().map(|(text, said)| (text.into_bytes(), said));
    let packed = [&b"\x1f\x8b\x08\xff"[..], b"x\n\xb0\n", b"\xff\xfex\0\n\0"];
    let said = [
        "line 1: bytes that are no text in UTF-8",
        "line 2: bytes that are no text",
        "line 1: a NUL",
    ];
    let packed =
        packed.into_iter().zip(said).map(|(bytes, said)| (bytes.to_vec(), said.to_owned()));
    for (content, said) in bytes.chain(packed) {
        here.put("a.csv", &content);
        let line = refused(here, "predict a.csv --skip-gaps");
        assert!(line.contains(&format!("a.csv: {said}")) || line.contains(&said), "{said}: {line}");
        assert!(
            line.chars().count() <= 300 && !line.trim_end().contains(char::is_control),
            "{line:?}"
        );
        // As transitions: refused by the same reader, or for their columns.
        let line = refused(here, "evaluate --data a.csv");
        assert!(line.chars().count() <= 300, "{line}");
    }
    let names: String = (0..5000).map(|i| format!("{}{i},", "n".repeat(100))).collect();
    here.put("a.csv", format!("{names}x\n"));
    for arguments in ["--column y", "--time y"] {
        let line = refused(here, &format!("predict a.csv {arguments}"));
        assert!(line.contains("column `y`: missing") && line.contains("4997 more"), "{line}");
        assert!(line.chars().count() <= 300, "{line}");
    }
}

#[test]
fn separators_quotes_and_a_missing_header_are_read_as_said() {
    let x = signal(300);
    let expected = predictions_of_x(&csv("x", x.iter().map(f64::to_string)), "");
    for (content, arguments) in [
        (csv("x;t", x.iter().map(|x| format!("{x};1"))), "--separator ; --column x"),
        (csv("x\tt", x.iter().map(|x| format!("{x}\t1"))), "--separator tab --time t --column x"),
        (csv("\u{feff}x\r", x.iter().map(|x| format!(" \"{x}\"\r").replace(' ', ""))), ""),
        (csv("x", x.iter().map(f64::to_string)) + "\n\n", ""),
    ] {
        if arguments.contains("--time") {
            let line =
                refused(&Folder::with("a.csv", content), &format!("predict a.csv {arguments}"));
            assert!(
                line.contains("row 1 (line 2), column `t`: the times' steps are not regular"),
                "{line}"
            );
            continue;
        }
        assert!(predictions_of_x(&content, arguments) == expected, "{arguments}");
    }
    let here = &Folder::new();
    let content: String = x.iter().map(|x| format!("7,{x}\n")).collect();
    let output = predict(here, &content, "--no-header --column 2");
    assert!(output.status.success(), "{output:?}");
    assert!(predictions(&here.join("out"), "2", 0.9) == expected);
}

#[test]
fn rows_that_are_missing_by_their_time_are_gaps() {
    let x = signal(900);
    let gap = |t: usize| if t < 400 { t } else { t + 3 };
    type Stamp = fn(usize) -> String;
    let stamps: [Stamp; 4] = [
        |t| (1_709_251_200_000 + 60_000 * t as u64).to_string(),
        |t| format!("2024-02-{:02}T{:02}:{:02}:00Z", 28 + t / 1440, t / 60 % 24, t % 60),
        |t| format!("2024-02-28 {:02}:{:02}:30.5+01:00", t / 60 % 24, t % 60),
        |t| format!("{}-{:02}-01", 2000 + t / 12, 1 + t % 12),
    ];
    let cells = x.iter().map(f64::to_string).collect::<Vec<_>>();
    let (before, after) = cells.split_at(400);
    let with_gaps = [before, &["nan".to_owned(), String::new(), "NaN".to_owned()], after].concat();
    let of_gaps = predictions_of_x(&csv("x", with_gaps.into_iter()), "--skip-gaps --period 21");
    let here = &Folder::new();
    for stamp in stamps {
        let table = |time: &dyn Fn(usize) -> usize| {
            csv("when,x", x.iter().enumerate().map(|(t, x)| format!("{},{x}", stamp(time(t)))))
        };
        let found = predict(here, &table(&gap), "--time when --skip-gaps --period 21 --json");
        assert_eq!(json(&found)["missing_rows"], 3);
        let found = predictions(&here.join("out"), "x", 0.9);
        assert_eq!(found.len(), of_gaps.len());
        assert!(found.iter().zip(&of_gaps).all(|(a, b)| a.2 == b.2));
        for (time, arguments, said) in [
            (
                &gap as &dyn Fn(usize) -> usize,
                "",
                "row 401 (line 402), column `when`: 3 missing before it",
            ),
            (
                &|t| if t == 700 { 699 } else { t },
                " --skip-gaps",
                "row 701 (line 702), column `when`: not later",
            ),
            (&|t| t / 2, "", "the times' steps are not regular"),
        ] {
            here.put("a.csv", table(time));
            let line = refused(here, &format!("predict a.csv --time when{arguments}"));
            assert!(line.contains(said), "{line}");
        }
    }
    for word in ["12:00", "13.03.2024", "2024-13-01", "soon", "", "nan"] {
        here.put("a.csv", format!("when,x\n{word},1\n"));
        let line = refused(here, "predict a.csv --time when");
        assert!(
            line.contains(&format!("`{word}` is neither a number nor a date in ISO 8601")),
            "{line}"
        );
    }
}
