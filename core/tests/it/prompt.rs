//! Prompts of transitions.

use ictd_core::Error;
use ictd_core::prompt::Prompt;
use ictd_core::transition::Transition;
use nalgebra::SVector;

fn transition(x: f64) -> Transition<f64, 2> {
    Transition { phi: SVector::from([x, 1.0]), reward: -x, phi_next: SVector::from([2.0 * x, 3.0]) }
}

#[test]
fn discounted_prompt_has_theorem_1s_rows() {
    let query = SVector::from([7.0, 8.0]);
    let prompt =
        Prompt::<f64, 5, 4>::discounted(&[transition(0.5), transition(1.0)], 0.5, &query).unwrap();
    assert_eq!(prompt.context_len(), 2);
    assert_eq!(prompt.column(0), &SVector::from([0.5, 1.0, 0.5, 1.5, -0.5]));
    assert_eq!(prompt.column(2), &SVector::from([7.0, 8.0, 0.0, 0.0, 0.0]));
}

#[test]
fn bad_input_is_named() {
    let query = SVector::from([0.0, 0.0]);
    let ok = transition(1.0);
    let prompt = |t: &[_], gamma| Prompt::<f64, 5, 2>::discounted(t, gamma, &query);
    let expected = "[0, 1)";
    assert_eq!(prompt(&[ok], 1.0), Err(Error::OutOfRange { parameter: "gamma", expected }));
    assert_eq!(prompt(&[ok], f64::NAN), Err(Error::NonFinite { parameter: "gamma" }));
    assert_eq!(
        prompt(&[ok, ok, ok], 0.9),
        Err(Error::CapacityExceeded { parameter: "context", capacity: 2 })
    );
    let mut bad = ok;
    bad.reward = f64::INFINITY;
    assert_eq!(prompt(&[bad], 0.9), Err(Error::NonFinite { parameter: "reward" }));
    let empty = prompt(&[], 0.9).unwrap();
    assert_eq!(empty.inverse_len(), Err(Error::Empty { parameter: "context" }));
}
