use crate::common::*;
use compute::cells::Holds;
use compute::times::TimeForm;
use ictd::Error;
use ictd::formats::signal_table::{Places, SignalTable};

fn table(content: impl AsRef<[u8]>, skip_gaps: bool) -> Result<SignalTable, Error> {
    let folder = Folder::new();
    folder.put("a.csv", content);
    let mut table = SignalTable::open(&folder.join("a.csv"))?;
    table.refuses_gaps = !skip_gaps;
    Ok(table)
}

fn places(names: &[&str], table: &SignalTable) -> Places {
    let signals = names.iter().map(|name| table.column(name).unwrap()).collect();
    Places { signals, ..Places::default() }
}

#[test]
fn columns_are_told_apart_and_read_in_pieces() {
    let text = "\u{feff}time;x;y\r\n12:00;1;nan\r\n12:01;2;5\r\n12:02;-3e1;6\r\n";
    let mut table = table(text, true).unwrap();
    assert_eq!(table.names(), ["time", "x", "y"]);
    let holds = [Holds::Times(TimeForm::OfDay), Holds::Numbers, Holds::Numbers];
    assert_eq!([0, 1, 2].map(|at| table.holds(at, None)), holds);
    let columns = places(&["y", "x"], &table);
    let rows = table.read(&columns, 2).unwrap().remove(0).1;
    assert!(rows.row(0)[0].is_nan());
    assert_eq!((rows.row(0)[1], rows.row(1)), (1.0, &[5.0, 2.0][..]));
    let rows = table.read(&columns, 2).unwrap().remove(0).1;
    assert_eq!((rows.row_numbers[0], rows.row(0)), (3, &[6.0, -30.0][..]));
    assert!(table.read(&columns, 2).unwrap().is_empty());
}

#[test]
fn what_cannot_be_read_is_named() {
    let message = |text: &[u8]| {
        let read = || {
            let mut table = table(text, false)?;
            let signals = vec![table.column("x")?];
            table.read(&Places { signals, ..Places::default() }, 100)
        };
        read().unwrap_err().to_string()
    };
    for (text, part) in [
        ("", "header: no names"),
        ("1,2\n3,4\n", "header: `1` is a number or a date"),
        ("2024-01-01;x\n2024-01-02;4\n", "header: `2024-01-01` is a number or a date"),
        ("x\n0,5;\n", "row 1 (line 2): 2 cells; expected 1"),
        ("y;x\n1;0,5\n", "column `x`: `0,5`, a decimal comma (write a point)"),
        ("y;x\n1;1.234,5\n", "column `x`: `1.234,5`, a decimal comma (write a point)"),
        ("y;x\n1;1,234,567\n", "column `x`: `1,234,567`, a separator of thousands"),
        ("y;x\n1;1 234.5\n", "column `x`: `1 234.5`, a separator of thousands"),
        ("y;x\n1;1,234\n", "column `x`: `1,234`, a decimal comma or a separator of thousands"),
        ("y;x\n1;21.5 °C\n", "column `x`: `21.5 °C`, a number with a unit"),
        ("y;x\n1;12%\n", "column `x`: `12%`, a number with a unit"),
        ("y;x\n1;$5\n", "column `x`: `$5`, a unit with a number"),
        ("x\n1 2 3\n", "column `x`: `1 2 3`, numbers with blanks between them"),
        ("y;x\n1;2024-01-01\n", "column `x`: `2024-01-01`, a date or a time"),
        ("y;x\n1;9007199254740993\n", "column `x`: `9007199254740993`, an integer of 2^53"),
        ("x,y\n", "row 1 (line 2): no rows below the header"),
        ("y,z\n1,2\n", "column `x`: missing; expected one of `y`, `z`"),
        ("x,x\n1,2\n", "column `x`: there twice"),
        ("x,y\n1,2\n3\n", "row 2 (line 3): 1 cells; expected 2"),
        ("x,y\n1,2\n,2\n", "row 2 (line 3), column `x`: empty; expected a finite number, or"),
        ("# a\nx\n1\ninf\n", "row 2 (line 4), column `x`: `inf`"),
        ("\"temp; C\",x\n1,-\n", "row 1 (line 2), column `x`: `-`"),
        (&format!("x,{}\n1,2\n", "y".repeat(201)), "column 2: a name of 201 bytes"),
        (&format!("x\n\"{}\n", "1\n".repeat(600_000)), "a row of more than 1048576 bytes"),
    ] {
        let message = message(text.as_bytes());
        assert!(message.contains(part), "{text:?}: {message}");
    }
    for (begin, what) in [
        (&b"\x1f\x8b\x08\x00"[..], "a packed file (gzip); expected CSV: unpack it"),
        (b"PK\x03\x04aaaa", "a packed file (zip, or a spreadsheet)"),
    ] {
        assert!(message(begin).contains(what), "{}", message(begin));
    }
}

#[test]
fn empty_lines_and_marks_of_missing_values_are_rows_of_gaps() {
    for end in ["\n", "\r\n"] {
        let text = "# above\n\nx;y\n\n1;2\n\n\n#N/A;4\n5;\"6\n\"\n7;8\n\n".replace('\n', end);
        let mut table = table(&text, true).unwrap();
        let columns = places(&["x", "y"], &table);
        let mut found = Vec::new();
        // In pieces, one of which ends between two empty lines.
        while let Some((_, rows)) = table.read(&columns, 2).unwrap().pop() {
            found.extend((0..rows.len()).map(|i| (rows.lines[i], rows.row(i).to_vec())));
        }
        let shown: Vec<_> = found
            .iter()
            .map(|(line, row)| {
                let cells = row.iter().map(|x| if x.is_nan() { "-".into() } else { x.to_string() });
                format!("{line}: {}", cells.collect::<Vec<_>>().join(" "))
            })
            .collect();
        assert_eq!(shown, ["5: 1 2", "6: - -", "7: - -", "8: - 4", "9: 5 6", "11: 7 8"], "{end:?}");
    }
}
