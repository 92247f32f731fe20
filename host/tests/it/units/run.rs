use crate::common::*;
use ictd::files;
use ictd::run::RunDirectory;
use ictd::run::info::time_of_day;
use ictd::run::lock::{FILE_NAME, RunLock};
use ictd::run::report::{Claim, Report, Source, Verdict, Whose, bound, shortest};
use serde_json::json;
use std::time::{Duration, SystemTime};

#[test]
fn a_bound_is_rounded_up() {
    for (x, shown) in [(1.26e-15, "1.3e-15"), (1.11e-16, "1.2e-16"), (9.91e-3, "1.0e-2")] {
        assert_eq!(bound(x), shown);
    }
    assert_eq!([bound(0.0), bound(f64::NAN)], ["0.0e0", "NaN"]);
}

#[test]
fn a_clock_before_1970_is_no_reason_to_stop() {
    let year = Duration::from_secs(366 * 24 * 3600);
    assert_eq!(time_of_day(SystemTime::UNIX_EPOCH - year), "1970-01-01T00:00:00Z");
    assert_eq!(time_of_day(SystemTime::UNIX_EPOCH + 9000 * year), "9999-12-31T23:59:59Z");
}

#[test]
fn a_lock_file_that_a_killed_process_left_does_not_block() {
    let directory = Folder::new();
    let of_this_host = format!("ictd\nprocess 1 on {}\n", files::host());
    for left in ["ictd\n", "", &of_this_host] {
        directory.put(FILE_NAME, left);
        RunLock::acquire(&directory).unwrap();
    }
}

#[test]
fn a_folder_that_a_killed_process_moved_away_is_put_back_with_what_is_the_users() {
    let out = Folder::new();
    let place = out.join("demo");
    let run_json = "{\"digests\":{\"files\":{\"a.csv\":\"\"}}}";
    let prepare = |folder: &Path, marked: bool| {
        fs::create_dir(folder).unwrap();
        for (name, content) in [("run.json", run_json), ("a.csv", "1"), ("mine.txt", "mine")] {
            folder.put(name, content);
        }
        marked.then(|| folder.put(".ictd-staged", ""));
    };
    let claimed = || drop(RunDirectory::claim(place.clone()).unwrap());
    // On a system that cannot exchange two folders: the old one was moved, and the new one did not come.
    prepare(&out.join(".ictd-old-demo"), false);
    prepare(&out.join(".ictd-new-demo"), true);
    claimed();
    assert_eq!(files(&out), ["demo/.lock", "demo/a.csv", "demo/mine.txt", "demo/run.json"]);
    // The new one came, and the old one was not removed; or was exchanged with it.
    for old in [".ictd-old-demo", ".ictd-new-demo"] {
        fs::remove_file(place.join("mine.txt")).unwrap();
        place.put(".ictd-staged", "");
        prepare(&out.join(old), false);
        claimed();
        assert_eq!(files(&out), ["demo/.lock", "demo/a.csv", "demo/mine.txt", "demo/run.json"]);
    }
    // A name that is taken does not lose what is the user's.
    prepare(&out.join(".ictd-old-demo"), false);
    claimed();
    assert!(files(&out).contains(&"demo/mine.txt~".to_owned()));
}

fn report(claim: &str, measured: &str, verdict: Verdict) -> Report {
    let claims = vec![Claim::new(claim, Source::own("falls"), measured, verdict)];
    Report { claims, ..Report::default() }
}

#[test]
fn a_claim_is_a_block_of_lines() {
    let report = report("the error falls", "0.652 ± 0.083 to 0.097 ± 0.005", Verdict::Holds);
    assert_eq!(
        report.to_text(40),
        "holds  the error falls\n    paper     falls\n    measured  0.652 ± 0.083 to 0.097 ±\n              0.005\n"
    );
}

#[test]
fn the_place_of_several_runs_is_the_directory_of_all() {
    let place = |files: &[&str]| {
        let files = files.iter().map(PathBuf::from).collect();
        Report { files, ..Report::default() }.place()
    };
    assert_eq!(place(&[]), "");
    assert_eq!(place(&["out/demo/a.csv"]), "\nfigures and numbers: out/demo\n");
    let several = ["out/demo/a.csv", "out/verify/b.csv", "out/report.html"];
    assert_eq!(place(&several), "\nfigures and numbers: out\n");
}

#[test]
fn a_claim_that_is_known_not_to_hold_says_so_and_is_no_failure() {
    for (expected, verdict, words, holds) in [
        (Verdict::DoesNotHold, Verdict::DoesNotHold, "does not hold (as known)", true),
        (Verdict::DoesNotHold, Verdict::Holds, "holds", true),
        (Verdict::Holds, Verdict::DoesNotHold, "DOES NOT HOLD", false),
    ] {
        let mut report = report("the error falls", "-", verdict);
        report.claims[0].expected = expected;
        assert!(report.to_text(100).contains(&format!("{words}  the error falls\n")), "{words}");
        assert_eq!(report.holds(), holds, "{words}");
        // What files say is what was expected, whatever the claim is called.
        let mut read: Claim = serde_json::from_value(json!(report.claims[0])).unwrap();
        read.claim = "reworded".into();
        assert_eq!(Report { claims: vec![read], ..Report::default() }.holds(), holds);
    }
}

#[test]
fn each_kind_of_claim_has_its_own_tally() {
    use Verdict::{DoesNotHold, Holds, HoldsInPart};
    let claim = |(whose, verdict, expected)| Claim {
        whose,
        expected,
        ..Claim::new("the error falls", Source::own("falls"), "-", verdict)
    };
    let claims = [
        (Whose::Own, Holds, Holds),
        (Whose::Paper, DoesNotHold, DoesNotHold),
        (Whose::Paper, DoesNotHold, Holds),
        (Whose::Paper, HoldsInPart, Holds),
        (Whose::Own, Holds, DoesNotHold),
    ];
    let mut report = Report { claims: claims.map(claim).into(), ..Report::default() };
    let expected = "\nthe paper's claims, by its measures: 0 hold, 1 in part, 2 do not (1 as known)\n\
                    this project's claims: 2 hold, 0 in part, 0 do not (0 as known)\n";
    assert_eq!(report.tallies(), expected);
    report.brief = true;
    let text = report.to_text(80);
    assert_eq!(text.matches("the error falls").count(), 2, "only what does not hold: {text}");
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_number_is_as_short_as_its_precision_allows() {
    let shown = [f64::from(0.9_f32), 0.9, 1.0, 0.123456789012].map(shortest);
    assert_eq!(shown, ["0.9", "0.9", "1.0", "0.123456789012"]);
}
