use super::*;
use ictd::formats::signal_table::{SignalTable, layout};
use judge::cells::Holds;
use judge::rows::Layout;
use judge::times::TimeForm;

fn table(content: impl AsRef<[u8]>) -> Result<SignalTable, Error> {
    SignalTable::open(&Folder::with("a.csv", content).join("a.csv"))
}

fn with_gaps(names: &[&str], table: &SignalTable) -> Layout {
    let signals: Vec<_> = names.iter().map(|name| table.column(name).unwrap()).collect();
    layout(&signals, true)
}

#[test]
fn columns_are_told_apart_and_read_in_pieces() {
    let text = "\u{feff}time;x;y\r\n12:00;1;nan\r\n12:01;2;5\r\n12:02;-3e1;6\r\n";
    let mut table = table(text).unwrap();
    assert_eq!(table.rows.names(), ["time", "x", "y"]);
    let holds = [Holds::Times(TimeForm::OfDay), Holds::Numbers, Holds::Numbers];
    assert_eq!([0, 1, 2].map(|at| table.holds(at, None)), holds);
    let columns = with_gaps(&["y", "x"], &table);
    let rows = table.read(&columns, 2).unwrap().remove(0).1;
    assert!(rows.row(0)[0].is_nan());
    assert_eq!((rows.row(0)[1], rows.row(1)), (1.0, &[5.0, 2.0][..]));
    let rows = table.read(&columns, 2).unwrap().remove(0).1;
    assert_eq!((rows.row_numbers[0], rows.row(0)), (3, &[6.0, -30.0][..]));
    assert!(table.read(&columns, 2).unwrap().is_empty());
}

#[test]
fn empty_lines_and_marks_of_missing_values_are_rows_of_gaps() {
    for end in ["\n", "\r\n"] {
        let text = "# above\n\nx;y\n\n1;2\n\n\n#N/A;4\n5;\"6\n\"\n7;8\n\n".replace('\n', end);
        let mut table = table(&text).unwrap();
        let columns = with_gaps(&["x", "y"], &table);
        let mut shown = Vec::new();
        // In pieces, one of which ends between two empty lines.
        while let Some((_, rows)) = table.read(&columns, 2).unwrap().pop() {
            for i in 0..rows.len() {
                let cell = |x: &f64| if x.is_nan() { "-".into() } else { x.to_string() };
                let cells: Vec<String> = rows.row(i).iter().map(cell).collect();
                shown.push(format!("{}: {}", rows.lines[i], cells.join(" ")));
            }
        }
        assert_eq!(shown, ["5: 1 2", "6: - -", "7: - -", "8: - 4", "9: 5 6", "11: 7 8"], "{end:?}");
    }
}

#[test]
fn indices_and_parts_of_dates_are_no_signals_behind_an_index_and_with_gaps() {
    let row = |i: u32| {
        let hole = if i == 40 { String::new() } else { (2 * i).to_string() };
        format!("{i},{:.3},{hole},{},{}\n", f64::from(i) / 30.0, i % 7, i * i % 11)
    };
    let text: String = (0..60).map(row).collect();
    let table = table(format!(",time_s,no,day_of_week,x\n{text}")).unwrap();
    let shown = [0, 1, 2, 3, 4].map(|at| format!("{:?}", table.holds(at, None)));
    let kinds = ["Counts", "Counts", "Counts", "PartOfDate", "Numbers"];
    assert!(shown.iter().zip(kinds).all(|(shown, kind)| shown.starts_with(kind)), "{shown:?}");
}
