//! Tables as loggers, spreadsheets and databases write them.

use crate::common::*;
use crate::predict::*;
use ictd_core::rng::Rng;

/// A time of the form that a logger writes, of a number of minutes.
fn stamp(form: usize, minute: usize) -> String {
    let (day, hour, minute_of_hour) = (13 + minute / 1440, minute / 60 % 24, minute % 60);
    let (clock, seconds) =
        (format!("{hour:02}:{minute_of_hour:02}:00"), 1_709_251_200 + 60 * minute);
    match form {
        0 => format!("2024-03-{day:02}T{clock}Z"),
        1 => format!("2024/03/{day:02} {clock}"),
        2 => format!("2024-03-{day:02} {clock}.500"),
        3 => format!("{day:02}.03.2024 {clock}"),
        4 => {
            let half = if hour < 12 { "AM" } else { "PM" };
            format!("03/{day:02}/2024 {}:{minute_of_hour:02}:00 {half}", (hour + 11) % 12 + 1)
        }
        5 => format!("2024-03-{day:02} {clock} UTC"),
        6 => format!("2024-03-{day:02}T{clock}+0100"),
        7 => format!("2024-03-{day:02};{clock}"),
        8 => format!("2024-03-{day:02} {clock}+00"),
        9 => format!("2024-03-{day:02} {clock} +0100"),
        10 => format!("202403{day:02}T{}Z", clock.replace(':', "")),
        11 => format!("202403{day:02}{}", clock.replace(':', "")),
        12 => format!("202403{day:02}{hour:02}{minute_of_hour:02}"),
        // Seconds since 1970, thousandths, millionths, and so on.
        _ => format!("{seconds}{}", "000".repeat(form - 13)),
    }
}

/// The number of forms.
const STAMPS: usize = 17;

#[test]
fn rows_that_are_missing_by_their_time_are_named_or_begin_anew() {
    let x = signal(1200);
    for form in 0..STAMPS {
        let directory = Folder::new();
        // Three minutes are missing after row 400, one row is there twice and one is too early.
        let minute = |t: usize| match t {
            0..400 => t,
            700 => 702,
            800 => 700,
            _ => t + 3,
        };
        let rows = x.iter().enumerate().map(|(t, x)| match (form, stamp(form, minute(t))) {
            (..8, time) => format!("{time};{x}"),
            (_, time) => format!("{x};{time}"),
        });
        // A data frame's index has no name; a date may stand beside the time of the day.
        let head = match form {
            7 => ["date;clock;x", ";clock;x"],
            ..8 => ["when;x", ";x"],
            _ => ["x;when", "x;"],
        };
        let content = csv(head[form % 2], rows);
        let found = json(&predict(&directory, &content, "--json"));
        assert!(found["time"].is_string(), "{form}: {found}");
        let said = found["times"].to_string();
        for part in [
            "1 earlier than the row before (the first is row 801)",
            "1 of the same time as the row before (the first is row 701)",
            "(the first is row 401)",
            "every row was taken to follow",
        ] {
            assert!(said.contains(part), "{form}: {said}");
        }
        // The same as a file in which each missing row is one without a value.
        let skipped = predict(&directory, &content, "--skip-gaps --period 21 --json");
        assert!(json(&skipped)["times"].to_string().contains("began anew"));
        let of_times = predictions(&directory.join("out"), "x", 0.9);
        let mut cells: Vec<String> = x.iter().map(f64::to_string).collect();
        for at in [800, 701, 700, 400, 400, 400] {
            cells.insert(at, "NA".into());
        }
        let rows = cells.iter().enumerate().map(|(t, x)| format!("{t},{x}"));
        let of_gaps = predictions_of_x(&csv("t,x", rows), "--column x --skip-gaps --period 21");
        for (a, b) in of_times.iter().zip(&of_gaps).take(800) {
            assert_eq!(a.2, b.2, "{form}: rows {} and {}", a.0, b.0);
        }
    }
}

/// The beginning of names that differ only in their last character.
const SERIES: &str = "a room of the building in the northern street";

#[test]
fn each_value_of_a_column_is_a_series_of_its_own() {
    let series = [signal(600), signal(700).iter().map(|x| 3.0 - x).collect()];
    // Interleaved at random, and one after the other.
    let mut rng = Rng::new(5);
    for is_mixed in [true, false] {
        let directory = Folder::new();
        let (mut at, mut rows, mut places) = ([0, 0], Vec::new(), [Vec::new(), Vec::new()]);
        while at[0] < 600 || at[1] < 700 {
            let next = if is_mixed { rng.below(2) as usize } else { usize::from(at[0] == 600) };
            if at[next] < series[next].len() {
                // An index that begins anew in each series is no signal.
                let step = at[next];
                rows.push(format!("{step},{} {next},{},{step}", SERIES, series[next][step]));
                places[next].push(rows.len() as u64);
                at[next] += 1;
            }
        }
        let content = csv("time,id,x,step", rows.into_iter());
        let found = json(&predict(&directory, &content, "--by id --json"));
        assert_eq!(found["times"].as_array().unwrap().len(), 0, "{found}");
        assert_eq!(found["signals"].as_array().unwrap().len(), 2);
        for (i, x) in series.iter().enumerate() {
            let judged = &found["signals"][i]["gammas"][0]["judged_rows"];
            assert_eq!(*judged, x.len() - 50 - 66);
            let expected = predictions_of_x(&csv_of_x(x), "");
            let found = predictions(&directory.join("out"), &format!("x of {SERIES} {i}"), 0.9);
            assert_eq!(found.len(), expected.len());
            for (t, (a, b)) in found.iter().zip(&expected).enumerate() {
                assert_eq!((a.0, &a.2), (places[i][t], &b.2));
            }
        }
    }
}

#[test]
fn columns_that_are_no_signals_are_left_out_and_named() {
    let directory = Folder::new();
    let x = signal(600);
    let rows = x.iter().enumerate().map(|(t, x)| {
        format!("{t},{},{},{x},{},", stamp(1, t), 0.25 * t as f64, u8::from(t % 50 == 0))
    });
    let content = csv("index,timestamp,seconds,x,label,result", rows);
    let found = json(&predict(&directory, &content, "--leave-out label --json"));
    assert_eq!(found["signals"].as_array().unwrap().len(), 1, "{found}");
    let left_out = found["left_out"].to_string();
    for name in ["index", "timestamp", "seconds", "label", "result"] {
        assert!(left_out.contains(name), "{left_out}");
    }
    // Who asks for a column gets it.
    let found = json(&predict(&directory, &content, "--column index --column x --json"));
    assert_eq!(found["signals"].as_array().unwrap().len(), 2);
    let output = predict(&directory, &content, "");
    assert!(text(&output).contains("`index` is left out: it changes by 1 in every row."));
    assert!(text(&output).contains("`timestamp` is left out: it is the time."));
    // A logger's first column rises by steps that are never quite the same, and is the time if nothing else is.
    let rows = x.iter().enumerate().map(|(t, x)| {
        let late = if t < 300 { 0 } else { 50_000 };
        format!("{},{x},{}", 1000 * t + t * 7 % 13 + late, ["in", "out"][t / 40 % 2])
    });
    let output = predict(&directory, &csv("millis,x,where", rows), "");
    for said in [
        "`millis` is left out: it rises in every row",
        "`millis` has rows: 1 after missing rows (the first is row 301), 50 missing in all",
        "--by \"where\" if each of its values is a series",
    ] {
        assert!(text(&output).contains(said), "{}", text(&output));
    }
    // So is a column without a name; a line break in a name is a blank.
    let rows = x.iter().map(|x| format!("{x},{x}"));
    let output = text(&predict(&directory, &csv(",\"x\ny\"", rows), ""));
    assert!(output.contains("`column 1` is left out: it has no name in the header."), "{output}");
    assert!(output.contains("\nx y "), "{output}");
    directory.put("data.csv", content);
    for (arguments, part) in [
        ("--column x --leave-out x", "--leave-out: x: --column asks for it"),
        ("--leave-out nothing", "column `nothing`: missing"),
        ("--by nothing", "column `nothing`: missing"),
        ("--time nothing", "column `nothing`: missing"),
    ] {
        let line = refused(&directory, &format!("predict data.csv {arguments}"));
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn what_is_said_of_times_is_true() {
    let x = signal(600);
    let table = |row: &dyn Fn(usize) -> String| {
        csv("when,x", x.iter().enumerate().map(|(t, x)| format!("{},{x}", row(t))))
    };
    let hour = |t: usize| format!("2024-03-{:02} {:02}:00", 1 + t / 24, t % 24);
    let unread = table(&|t| if t == 300 { "2024-03-99 12:00".into() } else { hour(t) });
    let business_days = table(&|t| (1_600_000_000 + 86_400 * (t / 5 * 7 + t % 5)).to_string());
    let late = |t: usize| stamp(1, t + if t < 300 { 0 } else { 5000 });
    let jump = table(&|t| if t == 300 { "?".into() } else { late(t) });
    let midnight = |t: usize| format!("2024-03-{:02} 24:00", t / 24);
    let of_24_hours = table(&|t| if t > 0 && t % 24 == 0 { midnight(t) } else { hour(t) });
    for (content, is_said, part) in [
        (
            business_days,
            true,
            "`when`: its steps are not regular, so missing rows are not detected.",
        ),
        (
            jump,
            true,
            "1 after missing rows (the first is row 302), 1 without a time that can be read (the first is row 301), 5000 missing",
        ),
        (of_24_hours, false, "has rows"),
        (
            unread.clone(),
            true,
            "`when` is left out: a time that cannot be read (a cell is `2024-03-99 12:00`).\nNo column has times",
        ),
    ] {
        let said = text(&predict(&Folder::new(), &content, "--skip-gaps"));
        assert_eq!(said.contains(part), is_said, "{part}: {said}");
        assert!(!said.contains("not regular") || !said.contains("began anew"), "{said}");
    }
    let here = Folder::with("data.csv", unread);
    let line = refused(&here, "predict data.csv --time when");
    assert!(line.contains("--time: when: a time that cannot be read"), "{line}");
    // A meter's steps are regular but for one in 40.
    here.put("data.csv", table(&|t| (100 * t + t * 7 % 5 + 1000 * (t / 40)).to_string()));
    let line = refused(&here, "predict data.csv --skip-gaps");
    assert!(line.contains("at most 40 rows without a gap"), "{line}");
    assert!(
        line.contains("`when` has rows: 14 after missing rows (the first is row 41)"),
        "{line}"
    );
}

#[test]
fn times_of_the_day_pass_midnight_and_a_time_that_rows_share_says_nothing() {
    let x = signal(600);
    for (head, row) in [
        ("clock,x", (|t| stamp(7, 5 * t)[11..].to_owned()) as fn(usize) -> String),
        ("day,x", |t| stamp(7, 5 * t)[..10].to_owned()),
        // Months by the first of each, with the day before the month.
        ("day,x", |t| format!("01/{:02}/{}", 1 + t % 12, 1970 + t / 12)),
        ("start,clock,x", |t| format!("{},{}", stamp(0, 0), stamp(7, 5 * t).replace(';', " "))),
        ("year,month,hour,x", |t| format!("2024,3,{}", t / 12 % 24)),
    ] {
        let rows = x.iter().enumerate().map(|(t, x)| format!("{},{x}", row(t)));
        let content = csv(head, rows);
        let found = json(&predict(&Folder::new(), &content, "--skip-gaps --json"));
        assert_eq!(found["times"].as_array().unwrap().len(), 0, "{head}: {found}");
        assert_eq!(found["signals"].as_array().unwrap().len(), 1, "{head}: {found}");
    }
}

#[test]
fn a_number_that_stands_for_missing_ones_is_named_or_a_gap() {
    for missing in ["-999", "-200", "1e30", "9999.0"] {
        let cells = |gap: &str| -> Vec<String> {
            let cell =
                |(t, x): (usize, &f64)| if t % 150 == 5 { gap.into() } else { x.to_string() };
            signal(1000).iter().enumerate().map(cell).collect()
        };
        let directory = Folder::new();
        let content = csv("x", cells(missing).into_iter());
        let said = text(&predict(&directory, &content, ""));
        assert!(said.contains("far from all others: if this stands for a missing value"), "{said}");
        let line = format!("predict data.csv --missing {missing}");
        let line = refused(&directory, &line);
        assert!(line.contains("row 6 (line 7), column `x`") && line.contains("missing"), "{line}");
        let found = predictions_of_x(&content, &format!("--missing {missing} --skip-gaps"));
        let expected = predictions_of_x(&csv("x", cells("NA").into_iter()), "--skip-gaps");
        assert!(found.iter().zip(&expected).all(|(a, b)| (a.0, &a.2) == (b.0, &b.2)), "{missing}");
    }
    // Two values, or a pulse now and then, are a signal.
    for row in [(|t| t / 20 % 2) as fn(usize) -> usize, |t| t % 9] {
        let output = predict(&Folder::new(), &csv("x", (0..300).map(|t| row(t).to_string())), "");
        assert!(!text(&output).contains("missing value"));
    }
}

#[test]
fn what_stands_above_the_rows_or_first_in_a_column_hides_no_signal() {
    let x = signal(400);
    let rows = |separator: &str| -> Vec<String> {
        x.iter().enumerate().map(|(t, x)| format!("{}{separator}{x}", t * t)).collect()
    };
    let of = |content: String| predictions_of_x(&content, "--skip-gaps");
    let expected = of(csv("t,x", rows(",").into_iter()));
    for (head, separator) in
        [("t|x", "|"), ("sep=;\r\nt;x", ";"), ("sep=,\nt,x", ","), ("#a\n\u{feff}sep=|\nt|x", "|")]
    {
        let found = of(csv(head, rows(separator).into_iter()));
        assert!(found.iter().zip(&expected).all(|(a, b)| a.2 == b.2), "{head}");
        assert_eq!(found.len(), expected.len(), "{head}");
    }
    // Lines may end in several ways in one file.
    let content = csv("t,x", rows(",").into_iter());
    for content in [
        content.replacen('\n', "\r\n", 7),
        content.replace('\n', "\r\n").replacen("\r\n", "\n", 7),
        content.replace('\n', "\r"),
    ] {
        let found = of(content);
        assert!(found.iter().zip(&expected).all(|(a, b)| (a.0, &a.2) == (b.0, &b.2)));
        assert_eq!(found.len(), expected.len());
    }
    for gap in ["#DIV/0!", "\\N", "<NA>", "unavailable", ".", "undefined", "(m/s)", "--", "1.#QNAN"]
    {
        let directory = Folder::new();
        let cells = [gap.to_owned()].into_iter().chain(x.iter().map(f64::to_string));
        let output = predict(&directory, &csv("x", cells), "--skip-gaps --json");
        assert_eq!(json(&output)["signals"][0]["gaps"], 1, "{gap}");
        let line = refused(&directory, "predict data.csv");
        assert!(line.contains("row 1 (line 2), column `x`") && line.contains(gap), "{line}");
    }
}

#[test]
fn figures_are_drawn_as_pdf_or_it_is_said_what_that_needs() {
    let directory = Folder::new();
    run(&directory, "demo --tasks 3 --max-context 20");
    if cfg!(feature = "pdf") {
        let output = run(&directory, "plot results/demo --pdf");
        assert!(output.status.success(), "{output:?}");
        let pdf = directory.bytes("results/demo/demo.pdf");
        assert!(pdf.starts_with(b"%PDF-"));
    } else {
        let line = refused(&directory, "plot results/demo --pdf");
        assert!(line.contains("--features pdf"), "{line}");
    }
}
