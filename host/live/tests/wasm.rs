//! The committed WebAssembly computes what the core computes here, bit for bit.

use live::{HORIZONS, K, Kind, Live, MAX_STATES, MODELS, SIGNALS, Signals};
use wasmi::{Engine, Instance, Linker, Module, Store, WasmParams, WasmResults};

/// The advice for when the core or the trained model has changed.
const HOW: &str = "the asset is of another core or model; host/live/build.sh rebuilds it";

const REPORT: &[u8] = include_bytes!("../../assets/report/live.wasm");

/// The module of the report, in an interpreter.
struct Browser {
    store: Store<()>,
    instance: Instance,
}

impl Browser {
    fn new() -> Self {
        let engine = Engine::default();
        let module = Module::new(&engine, REPORT).expect("the asset is a module");
        assert_eq!(module.imports().len(), 0, "it needs nothing of the page");
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine).instantiate_and_start(&mut store, &module).unwrap();
        Browser { store, instance }
    }

    fn call<P: WasmParams, R: WasmResults>(&mut self, name: &str, parameters: P) -> R {
        let function = self.instance.get_typed_func::<P, R>(&self.store, name).expect(name);
        function.call(&mut self.store, parameters).expect(name)
    }

    fn done(&mut self, name: &str, parameters: impl WasmParams) {
        assert_eq!(self.call::<_, u32>(name, parameters), 0, "{name}");
    }
}

/// Every number that the page shows.
fn assert_same(browser: &mut Browser, live: &Live) {
    let bits = |x: f32| if x.is_nan() { u32::MAX } else { x.to_bits() };
    assert_eq!(browser.call::<_, u32>("states", ()), live.states() as u32);
    assert_eq!(browser.call::<_, u32>("state", ()), live.state() as u32);
    assert_eq!(u64::from(browser.call::<_, u32>("len", ())), live.len());
    let mut number = |name: &str, indices: &[usize], want: f32| {
        let got: f32 = match *indices {
            [] => browser.call(name, ()),
            [i] => browser.call(name, i as u32),
            _ => browser.call(name, (indices[0] as u32, indices[1] as u32)),
        };
        assert_eq!(bits(got), bits(want), "{name} {indices:?}: {got} {want}; {HOW}");
    };
    number("least_msve", &[], live.least_msve());
    for s in 0..live.states() {
        number("reward", &[s], live.reward(s));
        number("true_value", &[s], live.true_value(s));
        for next in 0..live.states() {
            number("probability", &[s, next], live.probability(s, next));
        }
    }
    for model in 0..MODELS {
        number("msve", &[model], live.prediction(model).msve);
        for s in 0..live.states() {
            number("value", &[model, s], live.prediction(model).values[s]);
        }
    }
    for i in 0..K {
        number("token", &[i], live.token()[i]);
        for j in 0..K {
            number("statistic", &[i, j], live.statistic(i, j));
        }
    }
    assert_eq!(browser.call::<_, u64>("digest", ()), live.digest(), "{HOW}");
}

#[test]
fn every_number_of_the_module_is_the_cores_to_the_bit() {
    let (mut browser, mut live) = (Browser::new(), Live::new().unwrap());
    browser.done("reset", ());
    // A few layers: the interpreter is slow.
    live.construct(0.3, 7).unwrap();
    browser.done("construct", (0.3f32, 7u32));
    assert_same(&mut browser, &live);
    let kinds = [Kind::RandomMdp, Kind::BoyanChain, Kind::Loop, Kind::Ring];
    for (code, kind) in kinds.into_iter().enumerate() {
        for states in [2, 5, MAX_STATES] {
            let seed = 10 * states as u32 + code as u32;
            live.sample(kind, states, seed).unwrap();
            browser.done("sample", (code as u32, states as u32, seed));
            for _ in 0..5 {
                live.step().unwrap();
                browser.done("step", ());
            }
            assert_same(&mut browser, &live);
        }
    }
    let weights = [1.0, 0.5, 0.0, 2.0, 0.0, 0.25, 0.0, 1.5];
    live.edit(3, &weights, -0.6).unwrap();
    for (next, weight) in weights.into_iter().enumerate() {
        browser.call::<_, ()>("weight", (next as u32, weight));
    }
    browser.done("edit", (3u32, -0.6f32));
    live.construct(0.4, 4).unwrap();
    browser.done("construct", (0.4f32, 4u32));
    for _ in 0..9 {
        live.step().unwrap();
        browser.done("step", ());
    }
    assert_same(&mut browser, &live);
}

#[test]
fn predictions_of_signals_are_the_cores_to_the_bit() {
    let (mut browser, mut signals) = (Browser::new(), Signals::new(5).unwrap());
    browser.done("signals_reset", 5u32);
    for t in 0..40 {
        if t < 20 {
            signals.advance();
            browser.done("signals_next", ());
        } else {
            let (x, y) = (t as f32 / 7.0, 1.0 - (t % 6) as f32);
            signals.observe([x, y]);
            browser.done("signals_observe", (x, y));
        }
        for s in 0..SIGNALS {
            let value: f32 = browser.call("signals_value", s as u32);
            assert_eq!(value.to_bits(), signals.values()[s].to_bits(), "{HOW}");
            let seen = signals.seen().unwrap();
            for (h, p) in seen.predictions[s].iter().enumerate().take(HORIZONS.len()) {
                for (part, want) in [p.mean, p.low, p.high].into_iter().enumerate() {
                    let at = (s as u32, h as u32, part as u32);
                    let got: f32 = browser.call("signals_prediction", at);
                    assert_eq!(got.to_bits(), want.to_bits(), "{HOW}");
                }
            }
            let surprise: f32 = browser.call("signals_surprise", s as u32);
            assert_eq!(surprise.to_bits(), seen.surprise[s].to_bits(), "{HOW}");
        }
    }
    // A sample that is no number is missing: the last one holds.
    browser.done("signals_observe", (0.0f32, f32::NAN));
    signals.observe([0.0, f32::NAN]);
    assert_eq!(browser.call::<_, u64>("signals_digest", ()), signals.digest(), "{HOW}");
}

#[test]
fn the_story_has_the_same_digest() {
    let digest = live::story().unwrap();
    assert_eq!(Browser::new().call::<_, u64>("story", ()), digest, "{HOW}");
}

#[test]
fn a_refusal_is_a_code_and_changes_nothing() {
    let (mut browser, mut live) = (Browser::new(), Live::new().unwrap());
    browser.done("step", ());
    live.step().unwrap();
    for (states, code) in [(1, 3), (0, 3), (9, 3)] {
        assert_eq!(browser.call::<_, u32>("sample", (1u32, states as u32, 0u32)), code);
        assert!(live.sample(Kind::BoyanChain, states, 0).is_err());
    }
    // All weights 0; a reward that is no number; a depth of 0; a learning rate that is none.
    for next in 0..MAX_STATES as u32 {
        browser.call::<_, ()>("weight", (next, 0.0f32));
    }
    assert_eq!(browser.call::<_, u32>("edit", (0u32, 0.0f32)), 3);
    browser.call::<_, ()>("weight", (1u32, 1.0f32));
    browser.call::<_, ()>("weight", (u32::MAX, 1.0f32));
    assert_eq!(browser.call::<_, u32>("edit", (0u32, f32::NAN)), 2);
    assert_eq!(browser.call::<_, u32>("edit", (99u32, 0.0f32)), 3);
    assert_eq!(browser.call::<_, u32>("construct", (0.5f32, 0u32)), 3);
    assert_eq!(browser.call::<_, u32>("construct", (f32::INFINITY, 1u32)), 2);
    assert_same(&mut browser, &live);
}
