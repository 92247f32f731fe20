//! The layouts of other programs, and names that are given.

use super::*;
use crate::common::{array, npz_of};
use compute::transitions::EpisodeEnd::{self, Continues, End, Terminal};
use compute::transitions::Transitions;
use ictd::formats::Naming;
use ictd::formats::layout::Layout;

type Arrays = Vec<(&'static str, Array)>;

fn read(naming: &Naming, arrays: &Arrays) -> Result<(Transitions, Vec<String>), Error> {
    let mut npz = Npz::new(Path::new(FILE), Cursor::new(npz_of(arrays)))?;
    naming.read(&mut npz).map(|(trajectory, ignored)| (trajectory.transitions, ignored))
}

fn named(layout: Layout) -> Naming {
    Naming { layout: Some(layout), ..Naming::default() }
}

fn column(numbers: &[f64]) -> Array {
    array(&[numbers.len()], numbers.iter().copied())
}

fn table(numbers: &[f64]) -> Array {
    array(&[numbers.len(), 1], numbers.iter().copied())
}

/// The states that transitions leave and enter, the rewards, and the marks.
#[track_caller]
fn check(t: &Transitions, from: &[f64], next: &[f64], reward: &[f64], marks: &[EpisodeEnd]) {
    assert_eq!(t.from.iter().map(|row| t.phi[*row]).collect::<Vec<_>>(), from);
    assert_eq!((&t.phi_next[..], &t.reward[..], &t.marks[..]), (next, reward, marks));
}

fn sb3() -> Arrays {
    vec![
        ("obs", table(&[1., 2., 3., 4., 5.])),
        ("actions", column(&[0., 1., 0., 1., 0.])),
        ("rewards", column(&[10., 20., 30., 40., 50.])),
        ("episode_returns", column(&[60., 90.])),
        ("episode_starts", column(&[1., 0., 0., 1., 0.])),
    ]
}

#[test]
fn the_last_row_of_an_episode_of_stable_baselines_only_closes_it() {
    let (t, ignored) = read(&named(Layout::Sb3), &sb3()).unwrap();
    check(&t, &[1., 2., 4.], &[2., 3., 5.], &[10., 20., 40.], &[Continues, End, End]);
    assert_eq!(ignored, ["actions", "episode_returns"]);
}

#[test]
fn imitation_has_an_observation_more_in_each_episode() {
    let arrays = vec![
        ("obs", table(&[1., 2., 3., 7., 8.])),
        ("acts", column(&[0., 1., 0.])),
        ("rews", column(&[10., 20., 70.])),
        ("terminal", column(&[1., 0.])),
        ("indices", column(&[2.])),
    ];
    let naming = named(Layout::Imitation);
    let (t, ignored) = read(&naming, &arrays).unwrap();
    check(&t, &[1., 2., 7.], &[2., 0., 8.], &[10., 20., 70.], &[Continues, Terminal, End]);
    assert_eq!(ignored, ["acts"]);
    for (at, bad, expected) in [
        (4, column(&[3.]), "array `indices`: float64 of shape (1,); expected the 1 ascending cuts"),
        (3, column(&[1.]), "expected the 0 ascending cuts of 3 rewards"),
        (0, table(&[1., 2., 3., 7.]), "array `obs`: float64 of shape (4, 1); expected 5 rows"),
    ] {
        let mut arrays = arrays.clone();
        arrays[at].1 = bad;
        let error = read(&naming, &arrays).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn timeouts_of_d4rl_are_truncations() {
    let mut arrays = vec![
        ("observations", table(&[1., 2., 3., 4.])),
        ("next_observations", table(&[2., 9., 4., 8.])),
        ("actions", table(&[0.; 4])),
        ("rewards", column(&[10., 20., 30., 40.])),
        ("terminals", column(&[0., 0., 1., 0.])),
        ("timeouts", column(&[0., 1., 0., 0.])),
    ];
    let (t, _) = read(&named(Layout::D4rl), &arrays).unwrap();
    let marks = [Continues, End, Terminal, End];
    check(&t, &[1., 2., 3., 4.], &[2., 9., 0., 8.], &[10., 20., 30., 40.], &marks);
    // The same by names that are given.
    let given =
        ["phi=observations", "phi_next=next_observations", "reward=rewards", "end=timeouts"];
    let array = given.into_iter().chain(["terminal=terminals"]).map(str::to_owned).collect();
    let naming = Naming { layout: None, array, ignore: vec!["actions".into()] };
    assert_eq!(read(&naming, &arrays).unwrap().0, t);
    // Without next observations the row of a timeout only closes its episode.
    arrays.remove(1);
    let (t, _) = read(&named(Layout::D4rl), &arrays).unwrap();
    check(&t, &[1., 3.], &[2., 0.], &[10., 30.], &[End, Terminal]);
}

#[test]
fn unknown_arrays_are_refused_with_a_right_hint_or_none() {
    let refuse = |naming: &Naming, arrays: &Arrays, expected: &str| {
        let error = read(naming, arrays).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refuse(
        &Naming::default(),
        &sb3(),
        "array `obs`: unknown; expected these names, or --layout sb3",
    );
    refuse(&named(Layout::D4rl), &sb3(), "array `obs`: unknown; expected the arrays of the layout");
    let mut more = sb3();
    more.push(("weights", column(&[1.])));
    let expected = "array `weights`: unknown; expected the arrays of the layout; --array NAME=weights gives it a \
                    name, --ignore weights leaves it out";
    refuse(&named(Layout::Sb3), &more, expected);
    let ignore = vec!["weights".into()];
    assert!(read(&Naming { ignore: ignore.clone(), ..named(Layout::Sb3) }, &more).is_ok());
    let absent = Naming { ignore, ..named(Layout::Sb3) };
    refuse(&absent, &sb3(), "--ignore: weights: the file holds `obs`");
    let missing = Naming { array: vec!["rho=weights".into()], ..named(Layout::Sb3) };
    refuse(&missing, &sb3(), "array `weights` is missing: the file holds `obs`");
}
