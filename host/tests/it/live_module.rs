//! The committed WebAssembly computes what the core computes here, bit for bit.
//!
//! Needs Node.js: `tests/report.sh` installs it. Without it these tests say so and pass, except where the environment variable
//! CI is set.

use crate::common::not_run;
use live::{Chain, D, K, Kind, Live, MAX_STATES, SIGNALS, Signals};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Calls of the report's module, each with what it must return. One instance runs them when all are known.
#[derive(Default)]
struct Calls(String);

/// A parameter or a result, as `calls.mjs` reads it.
enum Number {
    Int(u32),
    Long(u64),
    Float(f32),
    Nothing,
}
use Number::{Float, Int, Long, Nothing};

impl Number {
    fn word(&self) -> String {
        match self {
            Int(x) => format!("u{x}"),
            Long(x) => format!("d{x}"),
            // A NaN has any bits.
            Float(x) if x.is_nan() => "fNaN".into(),
            Float(x) => format!("f{}", x.to_bits()),
            Nothing => "-".into(),
        }
    }
}

impl Calls {
    fn returns(&mut self, want: Number, name: &str, parameters: &[Number]) {
        let parameters: String = parameters.iter().map(|x| x.word() + " ").collect();
        writeln!(self.0, "{name} {parameters}= {}", want.word()).unwrap();
    }

    fn done(&mut self, name: &str, parameters: &[Number]) {
        self.returns(Int(0), name, parameters);
    }

    #[track_caller]
    fn hold(&self) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/calls.mjs");
        let module = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/report/live.wasm");
        let mut node = Command::new("node");
        node.args([script, module]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut node) = node.spawn() else {
            return not_run(
                "the report's WebAssembly: Node.js is missing (tests/report.sh installs it)",
            );
        };
        // It stops reading where something differs.
        let _ = node.stdin.take().unwrap().write_all(self.0.as_bytes());
        let output = node.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let how = "the asset is of another core or model; host/live/build.sh rebuilds it";
        assert!(output.status.success() && said.is_empty(), "{said}{how}");
    }
}

/// So many steps of both.
fn steps(calls: &mut Calls, live: &mut Live, count: usize) {
    for _ in 0..count {
        live.step().unwrap();
        calls.done("step", &[]);
    }
}

/// Every number that the page shows, in the order of the module's `read`.
fn all_numbers(calls: &mut Calls, live: &Live) {
    let mut number = |what: u32, [i, j]: [usize; 2], want: f32| {
        calls.returns(Float(want), "read", &[Int(what), Int(i as u32), Int(j as u32)]);
    };
    let Chain { task, value, least_msve, .. } = &live.chain;
    number(0, [0, 0], task.states() as f32);
    number(1, [0, 0], live.state as f32);
    number(2, [0, 0], live.context.len() as f32);
    number(3, [0, 0], *least_msve);
    for s in 0..task.states() {
        for next in 0..task.states() {
            number(4, [s, next], task.transition_from(s)[next]);
        }
        number(5, [s, 0], task.reward()[s]);
        number(6, [s, 0], value[s]);
    }
    for (model, prediction) in live.predictions.iter().enumerate() {
        number(7, [model, 0], prediction.msve);
        for s in 0..task.states() {
            number(8, [model, s], prediction.values[s]);
        }
    }
    for i in 0..K {
        number(9, [i, 0], live.token[i]);
        for j in 0..K {
            number(10, [i, j], live.statistic(i, j));
        }
    }
    calls.returns(Long(live.digest.value()), "digest", &[]);
}

#[test]
fn every_number_of_the_module_is_the_cores_to_the_bit() {
    let (mut calls, mut live) = (Calls::default(), Live::new().unwrap());
    calls.done("reset", &[]);
    live.construct(0.3, 7).unwrap();
    calls.done("construct", &[Float(0.3), Int(7)]);
    all_numbers(&mut calls, &live);
    let kinds = [Kind::RandomMdp, Kind::BoyanChain, Kind::Loop, Kind::Ring];
    for (code, kind) in kinds.into_iter().enumerate() {
        for states in [2, 5, MAX_STATES] {
            let seed = 10 * states as u32 + code as u32;
            live.sample(kind, states, seed).unwrap();
            calls.done("sample", &[Int(code as u32), Int(states as u32), Int(seed)]);
            steps(&mut calls, &mut live, 5);
            all_numbers(&mut calls, &live);
        }
    }
    let weights = [1.0, 0.5, 0.0, 2.0, 0.0, 0.25, 0.0, 1.5];
    live.edit(3, &weights, -0.6).unwrap();
    for (next, weight) in weights.into_iter().enumerate() {
        calls.returns(Nothing, "weight", &[Int(next as u32), Float(weight)]);
    }
    calls.done("edit", &[Int(3), Float(-0.6)]);
    live.construct(0.4, 4).unwrap();
    calls.done("construct", &[Float(0.4), Int(4)]);
    steps(&mut calls, &mut live, 9);
    all_numbers(&mut calls, &live);
    calls.hold();
}

#[test]
fn predictions_of_signals_are_the_cores_to_the_bit() {
    let (mut calls, mut signals) = (Calls::default(), Signals::new(5).unwrap());
    calls.done("signals_reset", &[Int(5)]);
    for t in 0..40 {
        if t < 20 {
            signals.advance();
            calls.done("signals_next", &[]);
        } else {
            let (x, y) = (t as f32 / 7.0, 1.0 - (t % 6) as f32);
            signals.observe([x, y]);
            calls.done("signals_observe", &[Float(x), Float(y)]);
        }
        let seen = signals.seen.as_ref().unwrap();
        for s in 0..SIGNALS {
            let mut number = |what: u32, horizon: usize, want: f32| {
                let parameters = [Int(what), Int(s as u32), Int(horizon as u32)];
                calls.returns(Float(want), "signals_read", &parameters);
            };
            number(0, 0, signals.values[s]);
            number(1, 0, seen[s].surprise);
            for (horizon, p) in seen[s].predictions.iter().enumerate() {
                number(2, horizon, p.mean);
                number(3, horizon, p.low);
                number(4, horizon, p.high);
            }
        }
    }
    // A sample that is no number is missing: the last one holds.
    calls.done("signals_observe", &[Float(0.0), Float(f32::NAN)]);
    signals.observe([0.0, f32::NAN]);
    calls.returns(Long(signals.digest.value()), "signals_digest", &[]);
    calls.hold();
}

#[test]
fn the_story_has_the_same_digest() {
    let mut calls = Calls::default();
    calls.returns(Long(live::story().unwrap()), "story", &[]);
    calls.hold();
}

#[test]
fn a_refusal_is_a_code_and_changes_nothing() {
    let (mut calls, mut live) = (Calls::default(), Live::new().unwrap());
    steps(&mut calls, &mut live, 1);
    for states in [0, 1, 9] {
        calls.returns(Int(3), "sample", &[Int(1), Int(states as u32), Int(0)]);
        assert!(live.sample(Kind::BoyanChain, states, 0).is_err());
    }
    // All weights 0; a reward that is no number; a depth of 0; a learning rate that is none.
    for next in 0..MAX_STATES as u32 {
        calls.returns(Nothing, "weight", &[Int(next), Float(0.0)]);
    }
    calls.returns(Int(3), "edit", &[Int(0), Float(0.0)]);
    calls.returns(Nothing, "weight", &[Int(1), Float(1.0)]);
    calls.returns(Nothing, "weight", &[Int(u32::MAX), Float(1.0)]);
    calls.returns(Int(2), "edit", &[Int(0), Float(f32::NAN)]);
    calls.returns(Int(3), "edit", &[Int(99), Float(0.0)]);
    calls.returns(Int(3), "construct", &[Float(0.5), Int(0)]);
    calls.returns(Int(2), "construct", &[Float(f32::INFINITY), Int(1)]);
    all_numbers(&mut calls, &live);
    calls.hold();
}

#[test]
fn drawn_chains_have_a_representable_value_and_edited_ones_need_not() {
    for kind in [Kind::RandomMdp, Kind::BoyanChain, Kind::Loop, Kind::Ring] {
        for seed in 0..20 {
            let chain = Chain::sample(kind, MAX_STATES, seed).unwrap();
            assert!(chain.least_msve < 1e-8, "{kind:?} {seed} {}", chain.least_msve);
        }
    }
    let chain = Chain::sample(Kind::RandomMdp, MAX_STATES, 1).unwrap();
    assert!(chain.edited(2, &[1.0; 8], 5.0).unwrap().least_msve > 1e-3);
    let small = Chain::sample(Kind::Ring, D, 1).unwrap();
    assert_eq!(small.edited(2, &[1.0; 8], 5.0).unwrap().least_msve, 0.0);
}
