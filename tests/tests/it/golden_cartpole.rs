//! Golden family cartpole: Gym's equations, the reset rule, the single grid of the authors' code.

use super::*;
use ictd_core::tasks::cart_pole::{
    ANGLE_LIMIT, CartPolePhysics, CartPoleState, POSITION_LIMIT, TileCoding,
};

fn cart_pole<R: Real>(case: &Case, _: usize) -> Outputs<R> {
    assert_eq!(case.number("x_threshold"), POSITION_LIMIT);
    assert_eq!(case.number("theta_threshold"), ANGLE_LIMIT);
    assert_eq!(case.word("integrator"), "euler (explicit)");
    let number = |name| R::from_f64(case.number(name));
    let physics = CartPolePhysics {
        cart_mass: number("masscart"),
        pole_mass: number("masspole"),
        half_length: number("length"),
        gravity: number("gravity"),
        time_step: number("tau"),
        force: number("force_mag"),
    };
    let bins = case.count("bins_per_dimension") as u16;
    let grid = TileCoding::<R>::new(1, bins).unwrap();
    let table: Vec<R> = tests::load(&case.input("reward_table"), 0);
    assert_eq!(table.len(), grid.total_tiles());
    let actions = case.input("actions").indices();
    assert_eq!(actions.len(), case.count("steps"));
    let reset_states: Vec<R> = tests::load(&case.input("reset_states"), 0);
    let mut reset_states = reset_states.chunks(4).map(state::<R>);

    let mut s = state(&tests::load(&case.input("state0"), 0));
    let index = |s: &CartPoleState<R>| grid.active_tiles(s)[0] as usize;
    let (mut raw, mut next, mut reset, mut reset_steps) = (vec![], vec![], vec![], vec![]);
    let mut bin_index = vec![index(&s)];
    for (t, action) in actions.into_iter().enumerate() {
        s = physics.step(&s, action == 1);
        raw.extend(entries(&s));
        let failed = s.has_failed();
        if failed {
            s = reset_states.next().expect("a state for each reset");
            reset_steps.push(R::from_count(t as u64));
        }
        reset.push(if failed { R::ONE } else { R::ZERO });
        next.extend(entries(&s));
        bin_index.push(index(&s));
    }
    let edges = (0..4).flat_map(|i| (1..bins).map(move |tile| (i, tile)));
    let rewards: Vec<R> = bin_index.iter().map(|i| table[*i]).collect();

    let mut out = Outputs::new();
    out.field("raw_next_state", "step", raw);
    out.field("next_state", "step", next);
    out.field("reset", "step", reset);
    out.field("reset_steps", "step", reset_steps);
    // numpy's linspace rounds once more for some numbers of bins.
    let rounding = if size_of::<R>() == 8 { 1e-15 } else { 1e-7 };
    let expected = case.expected("bin_edges").data;
    let largest = expected.iter().fold(0.0, |largest, x| f64::max(largest, x.abs()));
    for ((i, tile), want) in edges.zip(&expected) {
        let edge = grid.edge(i, tile).to_f64();
        assert!((edge - want).abs() <= rounding * largest, "{i}, {tile}: {edge}, not {want}");
    }
    out.field("bin_edges", "grid", expected.into_iter().map(R::from_f64));
    out.field("bin_index", "grid", bin_index.iter().map(|i| R::from_count(*i as u64)));
    let steps = rewards.len() - 1;
    out.field("reward_of_current_state", "grid", rewards[..steps].iter().copied());
    out.field("reward_reference_code", "grid", rewards[1..].iter().copied());
    out
}

fn state<R: Real>(x: &[R]) -> CartPoleState<R> {
    CartPoleState { position: x[0], velocity: x[1], angle: x[2], angular_velocity: x[3] }
}

fn entries<R: Real>(s: &CartPoleState<R>) -> [R; 4] {
    [s.position, s.velocity, s.angle, s.angular_velocity]
}

#[test]
fn golden_cartpole() {
    check_family("cartpole", cart_pole, cart_pole, |_| None);
}
