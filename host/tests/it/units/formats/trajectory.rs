use super::FILE;
use compute::estimator::{EpisodeEnd, Transitions};
use ictd::Error;
use ictd::formats::npz::{self, Npz};
use ictd::formats::trajectory::{Features, Trajectory};
use ictd::formats::{Array, Data};
use std::io::Cursor;
use std::path::Path;

const CSV: &str = "phi_0,phi_1,reward,phi_next_0,phi_next_1\n1,0.5,-2,0,1\n0,1,1e-3,1,1\n";

fn read(text: &str) -> Result<Trajectory, Error> {
    Trajectory::from_csv(Path::new(FILE), Cursor::new(text.as_bytes().to_vec()))
}

fn message(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn features(dimension: usize, numbers: &[f64]) -> Features {
    Features { dimension, numbers: numbers.to_vec() }
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
    let other = "\u{feff}# made by hand\r\n;reward;phi_next_1;phi_next_0;phi_1;phi_0\r\n\
                 0;-2;1;0; 0.5 ;1\r\n1;1e-3;1;1;1;0\r\n";
    assert_eq!(read(&other.replace("\u{feff}# made by hand\r\n", "\u{feff}")).unwrap(), expected);
    assert_eq!(read(&other.replace('\u{feff}', "")).unwrap(), expected);
    assert_eq!(read(&CSV.replace(',', "\t")).unwrap(), expected);
}

#[test]
fn an_index_and_a_last_separator_are_skipped() {
    let plain = read("phi_0,reward\n1,10\n2,20\n").unwrap();
    assert_eq!(read(",phi_0,reward\n7,1,10\n8,2,20\n").unwrap(), plain);
    assert_eq!(read("phi_0,reward,\n1,10,\n2,20, \n").unwrap(), plain);
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
        read("phi_0,reward,terminal,end\n1,10,0,0\n2,20,1,0\n3,30,0,0\n4,,0,1\n5,50,True,1\n");
    assert_eq!(trajectory.from, [0, 1, 2, 4]);
    assert_eq!(trajectory.reward, [10.0, 20.0, 30.0, 50.0]);
    assert_eq!(trajectory.phi_next, [2.0, 0.0, 4.0, 0.0]);
    assert_eq!(
        trajectory.marks,
        [EpisodeEnd::Continues, EpisodeEnd::Terminal, EpisodeEnd::End, EpisodeEnd::Terminal]
    );
    assert_eq!(trajectory.episodes(), 3);
    // With next features every row is a transition.
    let same = read(
        "phi_0,reward,phi_next_0,terminal,end\n1,10,2,0,0\n2,20,9,1,0\n3,30,4,0,1\n5,50,8,1,0\n",
    );
    assert_eq!((&same.reward, &same.marks), (&trajectory.reward, &trajectory.marks));
    assert_eq!(same.phi_next, trajectory.phi_next);
}

#[test]
fn weights_belong_to_transitions() {
    let rho = |text: &str| read(text).unwrap().transitions.rho;
    assert_eq!(rho("phi_0,rho,reward\n1,1.5,10\n2,0,20\n3,,\n"), Some(vec![1.5, 0.0]));
    assert_eq!(rho("phi_0,reward,phi_next_0,rho\n1,10,2,0.25\n"), Some(vec![0.25]));
    let array = |shape: &[usize], numbers: &[f64]| Array {
        shape: shape.to_vec(),
        data: Data::F64(numbers.to_vec()),
    };
    let (phi, reward) = (array(&[3, 1], &[1.0, 2.0, 3.0]), array(&[2], &[10.0, 20.0]));
    let npz = |rho: &[f64]| {
        let rho = array(&[rho.len()], rho);
        let bytes = npz::to_bytes(&[("phi", &phi), ("reward", &reward), ("rho", &rho)]).unwrap();
        let mut npz = Npz::new(Path::new(FILE), Cursor::new(bytes)).unwrap();
        Trajectory::from_npz(&mut npz).map(|read| read.transitions.rho).map_err(|e| e.to_string())
    };
    assert_eq!(npz(&[1.5, 0.0]), Ok(Some(vec![1.5, 0.0])));
    assert!(
        npz(&[1.5, -1.0]).unwrap_err().contains("`rho`: -1 in row 1; expected finite numbers of")
    );
    assert!(npz(&[1.5]).unwrap_err().contains("`rho`"));
}

#[test]
fn messages_name_row_line_and_column() {
    assert_eq!(
        message(&CSV.replace("1e-3", "abc")),
        "example.file: row 2 (line 3), column `reward`: `abc`; expected a finite number \
         such as -0.25 or 1e-3"
    );
    assert_eq!(
        message(&CSV.replace("1,1e-3", "1")),
        "example.file: row 2 (line 3): 4 cells; expected 5, as in the header"
    );
    for (bad, place) in [
        (CSV.replace("0.5", "inf"), "row 1 (line 2), column `phi_1`: `inf`"),
        (CSV.replace("-2", ""), "row 1 (line 2), column `reward`: empty"),
        ("phi_0,reward\n1,10\n2,\n3,30\n".into(), "row 2 (line 3), column `reward`: empty"),
        (CSV.replace("phi_next_1", "phi_2"), "column `phi_next_1`: missing"),
        (CSV.replace("phi_1", "phi_0"), "column `phi_0`: there twice"),
        (CSV.replace("phi_1", "Phi_1"), "column `Phi_1`: unknown"),
        (CSV.replace("phi_0,", "phi_7,"), "column `phi_0`: missing"),
        ("phi_0\n1\n".into(), "column `reward`: missing"),
        ("phi_0,reward\n1,2\n".into(), "`phi_next`: missing in a file of 1 rows"),
        ("phi_0,reward,terminal\n1,2,2\n".into(), "row 1 (line 2), column `terminal`: `2`"),
        ("phi_0,reward,terminal\n1,,1\n".into(), "row 1 (line 2), column `reward`: empty"),
        ("phi_0,reward,rho\n1,10,-1\n2,20,1\n".into(), "row 1 (line 2), column `rho`: `-1`"),
        ("phi_0,reward,rho\n1,10,\n2,20,1\n".into(), "row 1 (line 2), column `rho`: empty"),
        ("phi_0,reward,end\n1,2,\n".into(), "row 1 (line 2), column `end`: empty"),
        ("phi_0,reward,\n0,5,2\n0,5,\n".into(), "row 1 (line 2), column ``: `2` without"),
        ("phi_0,reward\n".into(), "no rows"),
        (String::new(), "column `phi_0`: missing"),
    ] {
        assert!(message(&bad).contains(place), "{bad:?}: {}", message(&bad));
    }
}

#[test]
fn queries_have_features_only() {
    let read =
        |text: &str| Features::from_csv(Path::new(FILE), Cursor::new(text.as_bytes().to_vec()));
    assert_eq!(read("phi_1,phi_0\n2,1\n").unwrap(), features(2, &[1.0, 2.0]));
    let message = read("phi_0,reward\n1,2\n").unwrap_err().to_string();
    assert!(message.contains("column `reward`: not a feature"), "{message}");
}

fn npz_example() -> Vec<u8> {
    let phi = Array { shape: vec![2, 2], data: Data::F32(vec![1.0, 0.5, 0.0, 1.0]) };
    let reward = Array { shape: vec![2], data: Data::F64(vec![-2.0, 0.001]) };
    let phi_next = Array { shape: vec![2, 2], data: Data::I64(vec![0, 1, 1, 1]) };
    npz::to_bytes(&[("phi", &phi), ("reward", &reward), ("phi_next", &phi_next)]).unwrap()
}

fn read_npz(bytes: &[u8]) -> Result<Trajectory, Error> {
    Trajectory::from_npz(&mut Npz::new(Path::new(FILE), Cursor::new(bytes))?)
}

#[test]
fn npz_and_csv_give_the_same() {
    assert_eq!(read_npz(&npz_example()).unwrap(), read(CSV).unwrap());
}

#[test]
fn marks_of_npz_and_csv_give_the_same() {
    let numbers = |x: &[i64]| Array { shape: vec![x.len()], data: Data::I64(x.to_vec()) };
    let phi = Array { shape: vec![4, 1], data: Data::I64(vec![1, 2, 3, 4]) };
    let read = |marks: &[i64]| {
        let (reward, end) = (numbers(&[10, 20, 30, 40]), numbers(&[0, 1, 0, 0]));
        let arrays =
            [("phi", &phi), ("reward", &reward), ("end", &end), ("terminal", &numbers(marks))];
        read_npz(&npz::to_bytes(&arrays).unwrap())
    };
    let csv = "phi_0,reward,end,terminal\n1,10,0,0\n2,,1,0\n3,30,0,0\n4,40,0,1\n";
    assert_eq!(
        read(&[0, 0, 0, 1]).unwrap(),
        Trajectory::from_csv(Path::new(FILE), Cursor::new(csv.as_bytes().to_vec())).unwrap()
    );
    let bad = read(&[0, 3, 0, 0]).unwrap_err().to_string();
    assert!(bad.contains("array `terminal`: 3 in row 1; expected 0 or 1"), "{bad}");
    let bad = read(&[0, 0]).unwrap_err().to_string();
    assert!(bad.contains("array `terminal`: int64 of shape (2,)"), "{bad}");
}

#[test]
fn npz_messages_name_the_array_and_the_place() {
    let phi = |data| Array { shape: vec![2, 1], data: Data::F64(data) };
    let reward = |n: usize| Array { shape: vec![n], data: Data::F64(vec![0.5; n]) };
    let message = |phi: &Array, reward: &Array| {
        let bytes = npz::to_bytes(&[("phi", phi), ("reward", reward)]).unwrap();
        read_npz(&bytes).unwrap_err().to_string()
    };
    let bad = message(&phi(vec![0.0, f64::NAN]), &reward(2));
    assert!(bad.contains("array `phi`: NaN in row 1, column 0"), "{bad}");
    let bad = message(&phi(vec![0.0, 1.0]), &reward(3));
    assert!(bad.contains("array `reward`: float64 of shape (3,)"), "{bad}");
}

#[test]
fn an_array_of_another_name_is_refused_with_the_nearest_one() {
    let phi = Array { shape: vec![2, 1], data: Data::F64(vec![0.0, 1.0]) };
    let reward = Array { shape: vec![2], data: Data::F64(vec![0.5; 2]) };
    for (name, nearest) in
        [("terminated", "terminal"), ("rewards", "reward"), ("phi_nxt", "phi_next")]
    {
        let bytes = npz::to_bytes(&[("phi", &phi), ("reward", &reward), (name, &reward)]).unwrap();
        let bad = read_npz(&bytes).unwrap_err().to_string();
        let part = format!("array `{name}`: unknown; expected");
        assert!(bad.contains(&part) && bad.contains(&format!("did you mean `{nearest}`")), "{bad}");
    }
}
