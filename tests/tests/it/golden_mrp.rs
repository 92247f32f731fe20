//! Golden family mrp: Boyan's chain, the Loop, what evaluation needs of them, and Figure 1's pipeline.

use super::*;
use ictd_core::tasks::{boyan_transition, loop_transition};

/// The capacity for states.
const M: usize = 32;

golden!(golden_mrp, "mrp", Real, mrp);

fn mrp<R: Real, const D: usize, const K: usize>(case: &Case, _: usize) -> Outputs<R> {
    if case.has_input("states") { demo::<R, D, K>(case) } else { process::<R, D>(case) }
}

/// (rows, columns) numbers in the corner of a zero matrix.
fn corner<R: Real, const A: usize, const B: usize>(case: &Case, name: &str) -> SMatrix<R, A, B> {
    let array = case.input(name);
    let [rows, columns] = array.shape[..] else { panic!("{}: {name} is no matrix", case.label()) };
    assert!(rows <= A && columns <= B, "{}: these tests hold up to ({A}, {B})", case.label());
    let mut m = linalg::zeros();
    for (i, x) in array.data.iter().enumerate() {
        m[(i / columns, i % columns)] = R::from_f64(*x);
    }
    m
}

fn start<R: Real, const A: usize>(case: &Case, name: &str) -> SVector<R, A> {
    let numbers = tests::load::<R>(&case.input(name), 0);
    assert!(numbers.len() <= A, "{}: these tests hold up to {A} states", case.label());
    SVector::from_fn(|i, _| numbers.get(i).copied().unwrap_or(R::ZERO))
}

fn leading<R: Real, const A: usize>(v: &SVector<R, A>, m: usize) -> Vec<R> {
    v.iter().copied().take(m).collect()
}

fn process<R: Real, const D: usize>(case: &Case) -> Outputs<R> {
    let m = case.count("m");
    let gamma = R::from_f64(case.number("gamma"));
    let p: SMatrix<R, M, M> = match case.word("env") {
        "boyan" => boyan_transition(m, &start(case, "eps"), &start(case, "last_row_unnormalised")),
        "loop" => {
            let (connect, weight) = (corner(case, "connect_draws"), corner(case, "weight_draws"));
            loop_transition(m, &connect, &weight, R::from_f64(case.number("threshold")))
        }
        other => panic!("{}: env {other}", case.label()),
    };
    let weights = start::<R, M>(case, "p0_unnormalised");
    let total = weights.iter().fold(R::ZERO, |sum, x| sum + *x);
    let initial = weights.map(|x| x / total);
    let features: SMatrix<R, D, M> = corner::<R, M, D>(case, "Phi").transpose();
    let mrp = Mrp::new(m, &initial, &p, &start(case, "r"), &features).unwrap();

    let mut out = Outputs::new();
    out.field("p0", "", leading(mrp.initial(), m));
    out.field("P", "", (0..m).flat_map(|s| leading(&mrp.transition_from(s), m)));
    let d = mrp.stationary_distribution().unwrap();
    out.field("d_p", "", leading(&d, m));
    let v = mrp.true_value(gamma).unwrap();
    out.field("v", "", leading(&v, m));
    let w_star = start(case, "w_star");
    out.field("v_representable", "", leading(&mrp.values_of(&w_star), m));
    let representable = mrp.clone().with_representable_value(&w_star, gamma);
    out.field("r_representable", "", leading(representable.reward(), m));
    let msve = |w: &SVector<R, D>| mrp.msve(&d, &mrp.values_of(w), &v);
    out.field("msve", "", [msve(&start(case, "w_hat"))]);

    // The d_p-weighted fit.
    let states = EvaluationStates::from_mrp(&mrp).unwrap();
    let w_msve = states.implicit_weights(&v).unwrap();
    out.field("w_msve", "", w_msve.iter().copied());
    if case.expects("msve_min") {
        out.field("msve_min", "", [msve(&w_msve)]);
    }

    // TD's fixed point is LSTD on the transitions that are expected under d_p: each weighted by its
    // probability.
    let (mut a, mut b) = (linalg::zeros::<R, D, D>(), linalg::zeros::<R, D, 1>());
    for s in 0..m {
        let mut phi_next = linalg::zeros::<R, D, 1>();
        for next in 0..m {
            linalg::add_scaled(&mut phi_next, p[(s, next)], &mrp.feature_map()[next]);
        }
        let phi = &mrp.feature_map()[s];
        let mut difference = *phi;
        linalg::add_scaled(&mut difference, -gamma, &phi_next);
        linalg::add_outer(&mut a, &phi.map(|x| d[s] * x), &difference);
        linalg::add_scaled(&mut b, d[s] * mrp.reward()[s], phi);
    }
    let w = linalg::linear_system::solve(a, b, D, "LSTD").unwrap();
    out.field("w_td_fixed_point", "", w.iter().copied());
    out
}

/// Figure 1's pipeline: w after L iterations on the first n transitions of a path, and its MSVE.
fn demo<R: Real, const D: usize, const K: usize>(case: &Case) -> Outputs<R> {
    let m = case.count("m");
    let (gamma, alpha) = (R::from_f64(case.number("gamma")), R::from_f64(case.number("alpha")));
    let features: SMatrix<R, D, M> = corner::<R, M, D>(case, "Phi").transpose();
    let uniform =
        SVector::from_fn(|s, _| if s < m { R::ONE / R::from_count(m as u64) } else { R::ZERO });
    let p = corner(case, "P");
    let w_star = start(case, "w_star");
    let mrp = Mrp::<R, D, M>::new(m, &uniform, &p, &linalg::zeros(), &features)
        .unwrap()
        .with_representable_value(&w_star, gamma);
    let d = mrp.stationary_distribution().unwrap();
    let v = mrp.values_of(&w_star);
    let mut out = Outputs::new();
    out.field("d_p", "", leading(&d, m));
    out.field("r", "", leading(mrp.reward(), m));
    out.field("v", "", leading(&v, m));
    out.field("v", "Bellman equation", leading(&mrp.true_value(gamma).unwrap(), m));

    let states = case.input("states").indices();
    let transitions: Vec<Transition<R, D>> = states
        .windows(2)
        .map(|pair| Transition {
            phi: mrp.feature_map()[pair[0]],
            reward: mrp.reward()[pair[0]],
            phi_next: mrp.feature_map()[pair[1]],
        })
        .collect();
    let layers = case.count("L");
    let c = constructions::scaled_identity(alpha);
    let transformer = Transformer::<_, 1>::autoregressive(constructions::td0(&c), layers).unwrap();
    let mut context = Context::<D, _, _, R>::with_memory(Td0, Growing);
    let (mut seen, mut streamed, mut classical) = (0, Vec::new(), Vec::new());
    for n in case.list("context_lengths") {
        let n = n as usize;
        for t in &transitions[seen..n] {
            context.observe_transition(t).unwrap();
        }
        seen = n;
        streamed.push(
            transformer.value_function(&context.statistic::<K>(gamma, 0).unwrap()).unwrap().weights,
        );
        let mut w = linalg::zeros();
        for _ in 0..layers {
            w = td::updates::td0(&w, &c, &transitions[..n], gamma).unwrap();
        }
        classical.push(w);
    }
    for (form, w) in [("transformer", streamed), ("classical", classical)] {
        out.field("msve", form, w.iter().map(|w| mrp.msve(&d, &mrp.values_of(w), &v)));
        out.field("w_L", form, w.iter().flat_map(|w| w.iter().copied()));
    }
    out
}
