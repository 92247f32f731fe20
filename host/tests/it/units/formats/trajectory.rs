use super::*;
use crate::common::{array, npz_of};
use compute::transitions::{EpisodeEnd, Transitions};
use ictd::formats::Naming;
use ictd::formats::trajectory::{Features, Trajectory};

const CSV: &str = "phi_0,phi_1,reward,phi_next_0,phi_next_1\n1,0.5,-2,0,1\n0,1,1e-3,1,1\n";

fn read(text: &str) -> Result<Trajectory, Error> {
    Trajectory::from_csv(Path::new(FILE), Cursor::new(text.as_bytes().to_vec()))
}

#[test]
fn columns_are_found_by_name_in_any_order_and_notation() {
    let transitions = Transitions {
        d: 2,
        phi: vec![1.0, 0.5, 0.0, 1.0],
        reward: vec![-2.0, 0.001],
        phi_next: vec![0.0, 1.0, 1.0, 1.0],
        from: vec![0, 1],
        marks: vec![EpisodeEnd::Continues, EpisodeEnd::End],
        rho: None,
    };
    let expected = Trajectory { transitions, query: None };
    assert_eq!(read(CSV).unwrap(), expected);
    let other = "\u{feff}reward,phi_next_1,\"phi_next_0\",phi_1,phi_0\r\n-2,1,0, 0.5 ,1\r\n1e-3,1,1,1,\"0\"\r\n\r\n";
    assert_eq!(read(other).unwrap(), expected);
}

#[test]
fn without_next_features_the_next_row_is_the_next_state() {
    let trajectory = read("phi_0,reward\n1,10\n2,20\n3,\n").unwrap();
    assert_eq!(read("phi_0,reward\n1,10\n2,20\n3,30\n").unwrap(), trajectory);
    let transitions = trajectory.transitions;
    assert_eq!(transitions.phi, [1.0, 2.0, 3.0]);
    assert_eq!(transitions.reward, [10.0, 20.0]);
    assert_eq!(transitions.phi_next, [2.0, 3.0]);
}

#[test]
fn no_transition_crosses_the_end_of_an_episode() {
    let read = |text: &str| read(text).unwrap().transitions;
    let trajectory =
        read("phi_0,reward,terminal,end\n1,10,0,0\n2,20,1,0\n3,30,0,0\n4,,0,1\n5,50,1,1\n");
    assert_eq!(trajectory.from, [0, 1, 2, 4]);
    assert_eq!(trajectory.reward, [10.0, 20.0, 30.0, 50.0]);
    assert_eq!(trajectory.phi_next, [2.0, 0.0, 4.0, 0.0]);
    use EpisodeEnd::{Continues, End, Terminal};
    assert_eq!(trajectory.marks, [Continues, Terminal, End, Terminal]);
    assert_eq!(trajectory.episodes(), 3);
    // With next features every row is a transition.
    let same = read(
        "phi_0,reward,phi_next_0,terminal,end\n1,10,2,0,0\n2,20,9,1,0\n3,30,4,0,1\n5,50,8,1,0\n",
    );
    assert_eq!((&same.reward, &same.marks), (&trajectory.reward, &trajectory.marks));
    assert_eq!(same.phi_next, trajectory.phi_next);
}

#[test]
fn messages_name_row_line_and_column() {
    let abc = "example.file: row 2 (line 3), column `reward`: `abc` is no finite number; read it";
    for (bad, place) in [
        (CSV.replace("1e-3", "abc"), abc),
        (CSV.replace("1,1e-3", "1"), "row 2 (line 3): 4 cells; expected 5, as in line 1"),
        (CSV.replace("0.5", "inf"), "row 1 (line 2), column `phi_1`: `inf`"),
        (CSV.replace("0.5", "nan"), "row 1 (line 2), column `phi_1`: a gap"),
        (CSV.replace("-2", ""), "row 1 (line 2), column `reward`: a gap"),
        ("phi_0,reward\n1,10\n2,\n3,30\n".into(), "row 2 (line 3), column `reward`: a gap"),
        (CSV.replace("phi_next_1", "phi_2"), "column `phi_next_1`: missing"),
        (CSV.replace("phi_1", "phi_0"), "header, column 2: `phi_0` is there twice"),
        (CSV.replace("phi_1", "Phi_1"), "column `Phi_1`: unknown"),
        (CSV.replace("phi_0,", "phi_7,"), "column `phi_0`: missing"),
        ("phi_0\n1\n".into(), "column `reward`: missing"),
        ("phi_0,reward\n1,2\n".into(), "`phi_next`: missing in a file of 1 rows"),
        ("phi_0,reward,terminal\n1,2,2\n".into(), "column `terminal`: `2` is neither 0 nor 1"),
        ("phi_0,reward,terminal\n1,,1\n".into(), "row 1 (line 2), column `reward`: a gap"),
        ("phi_0,reward,rho\n1,10,-1\n2,20,1\n".into(), "row 1 (line 2), column `rho`: `-1`"),
        ("phi_0,reward,rho\n1,10,\n2,20,1\n".into(), "row 1 (line 2), column `rho`: a gap"),
        ("phi_0,reward,end\n1,2,\n".into(), "row 1 (line 2), column `end`: ``"),
        ("phi_0,reward,\n1,2,\n".into(), "header, column 3: no name"),
        ("phi_0,reward\n".into(), "no rows"),
        (String::new(), "line 1: the file is empty"),
    ] {
        let message = read(&bad).unwrap_err().to_string();
        assert!(message.contains(place), "{bad:?}: {message}");
    }
}

#[test]
fn queries_have_features_only() {
    let read =
        |text: &str| Features::from_csv(Path::new(FILE), Cursor::new(text.as_bytes().to_vec()));
    let expected = Features { dimension: 2, numbers: vec![1.0, 2.0] };
    assert_eq!(read("phi_1,phi_0\n2,1\n").unwrap(), expected);
    let message = read("phi_0,reward\n1,2\n").unwrap_err().to_string();
    assert!(message.contains("column `reward`: not a feature"), "{message}");
}

fn read_npz(arrays: &[(&str, Array)]) -> Result<Trajectory, Error> {
    Ok(Naming::default().read(&mut Npz::new(Path::new(FILE), Cursor::new(npz_of(arrays)))?)?.0)
}

#[test]
fn npz_and_csv_give_the_same() {
    let integers =
        |shape: &[usize], x: &[i64]| Array { shape: shape.to_vec(), data: Data::I64(x.to_vec()) };
    let single = Array { shape: vec![2, 2], data: Data::F32(vec![1.0, 0.5, 0.0, 1.0]) };
    let marked = "phi_0,reward,end,terminal\n1,10,0,0\n2,,1,0\n3,30,0,0\n4,40,0,1\n";
    let (double, next) = (array(&[2], [-2.0, 0.001]), integers(&[2, 2], &[0, 1, 1, 1]));
    for (arrays, csv) in [
        (vec![("phi", single), ("reward", double), ("phi_next", next)], CSV),
        (
            vec![
                ("phi", integers(&[4, 1], &[1, 2, 3, 4])),
                ("reward", integers(&[4], &[10, 20, 30, 40])),
                ("end", integers(&[4], &[0, 1, 0, 0])),
                ("terminal", integers(&[4], &[0, 0, 0, 1])),
            ],
            marked,
        ),
        (
            vec![
                ("phi", array(&[3, 1], [1.0, 2.0, 3.0])),
                ("reward", array(&[2], [10.0, 20.0])),
                ("rho", array(&[2], [1.5, 0.0])),
            ],
            "phi_0,rho,reward\n1,1.5,10\n2,0,20\n3,,\n",
        ),
    ] {
        assert_eq!(read_npz(&arrays).unwrap(), read(csv).unwrap());
    }
}

#[test]
fn npz_messages_name_the_array_and_the_place() {
    for (name, given, expected) in [
        ("phi", array(&[2, 1], [0.0, f64::NAN]), "NaN in row 2, column 1"),
        ("reward", array(&[3], [0.5; 3]), "float64 of shape (3,)"),
        ("terminal", array(&[2], [0.0, 3.0]), "3 in row 2; expected 0 or 1"),
        ("terminal", array(&[3], [0.0; 3]), "float64 of shape (3,)"),
        ("rho", array(&[2], [1.5, -1.0]), "-1 in row 2; expected finite numbers of"),
        ("rho", array(&[4], [1.5; 4]), "float64 of shape (4,)"),
        ("gamma", array(&[], [0.9]), "a file without it (`train --task` reads it)"),
        // A name that is nearly ours; no hint for any other.
        ("terminated", array(&[2], [0.0; 2]), "(did you mean `terminal`?)"),
        ("rewards", array(&[2], [0.0; 2]), "(did you mean `reward`?)"),
        ("timeouts", array(&[2], [0.0; 2]), "terminal, end, rho; --array NAME=timeouts gives"),
        ("dones", array(&[2], [0.0; 2]), "terminal, end, rho; --array NAME=dones gives"),
        ("phi_nxt", array(&[2], [0.0; 2]), "(did you mean `phi_next`?)"),
    ] {
        let mut arrays =
            vec![("phi", array(&[2, 1], [0.0, 1.0])), ("reward", array(&[2], [0.5; 2]))];
        arrays.retain(|(other, _)| *other != name);
        arrays.push((name, given));
        let message = read_npz(&arrays).unwrap_err().to_string();
        let place = format!("array `{name}`: ");
        assert!(message.contains(&place) && message.contains(expected), "{message}");
    }
}
