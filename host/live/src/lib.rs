//! The live parts of the report: one Markov chain, one trajectory, and the predictions of two transformers with fixed weights,
//! step by step; and signals, predicted sample by sample.
//!
//! The browser runs it as WebAssembly (`browser`), the host as a library; [`Live::digest`]
//! covers every number that is shown, and is the same in both.
//!
//! `host/live/build.sh` rebuilds `host/assets/report/live.wasm`.
#![cfg_attr(target_family = "wasm", no_std)]

#[cfg(target_family = "wasm")]
mod browser;
mod chain;
mod signals;

pub use chain::{Chain, Kind, MAX_STATES};
pub use signals::{HORIZONS, SIGNALS, Seen, Signals};

use ictd_core::digest::Digest;
use ictd_core::error::Error;
use ictd_core::model::ConstructionSettings;
use ictd_core::rng::{Rng, RngStream};
use ictd_core::statistic::Statistic;
use ictd_core::tasks::Task;
use ictd_core::{Context, Model};

pub const D: usize = 4;

pub const K: usize = 2 * D + 1;

pub const GAMMA: f32 = 0.9;

/// The first chain that a reader sees.
const STATES: usize = 5;
const SEED: u32 = 32;

/// Learning rate and depth of the constructed transformer, until the reader changes them.
const ALPHA: f32 = 0.2;
const DEPTH: u16 = 40;

/// L = 3, trained by multi-task TD on 4000 Boyan's chains; the firmware's demo links the same.
const TRAINED: &[u8] = include_bytes!("../../../embedded-demo/src/trained.ictd");

/// The number of transformers: one with Theorem 1's weights, and a trained one.
pub const MODELS: usize = 2;

/// A transformer's prediction in the present context.
#[derive(Clone, Copy, Debug)]
pub struct Prediction {
    /// The value of each state; NaN before the first transition, or if the layers diverge.
    pub values: [f32; MAX_STATES],
    /// sum_s d(s) (v_TF(s) - v(s))^2.
    pub msve: f32,
}

const UNKNOWN: Prediction = Prediction { values: [f32::NAN; MAX_STATES], msve: f32::NAN };

/// Everything that the page shows.
pub struct Live {
    pub chain: Chain,
    pub state: usize,
    pub context: Context<D>,
    /// The newest column of the prompt, (phi; gamma phi'; R).
    pub token: [f32; K],
    /// The predictions of the constructed and of the trained transformer.
    pub predictions: [Prediction; MODELS],
    /// The digest of everything computed since the last reset.
    pub digest: Digest,
    seed: u32,
    rng: Rng,
    models: [Model<D>; MODELS],
}

impl Live {
    /// Returns the first chain that a reader sees.
    pub fn new() -> Result<Self, Error> {
        let trained = Model::<D>::from_bytes(TRAINED)
            .map_err(|_| Error::OutOfRange { parameter: "trained.ictd", expected: "a model" })?;
        let mut live = Live {
            chain: Chain::sample(Kind::RandomMdp, STATES, SEED)?,
            seed: SEED,
            rng: Rng::new(0),
            state: 0,
            context: Context::<D>::new(),
            token: [0.0; K],
            models: [
                Model::<D>::td0(ConstructionSettings::new(GAMMA).step_size(ALPHA).depth(DEPTH))?,
                trained,
            ],
            predictions: [UNKNOWN; MODELS],
            digest: Digest::EMPTY,
        };
        live.reset();
        Ok(live)
    }

    /// Draws a chain; keeps the old one on an error.
    pub fn sample(&mut self, kind: Kind, states: usize, seed: u32) -> Result<(), Error> {
        self.chain = Chain::sample(kind, states, seed)?;
        self.seed = seed;
        self.reset();
        Ok(())
    }

    /// Changes the chain by [`Chain::edited`].
    pub fn edit(
        &mut self,
        state: usize,
        weights: &[f32; MAX_STATES],
        reward: f32,
    ) -> Result<(), Error> {
        self.chain = self.chain.edited(state, weights, reward)?;
        self.reset();
        Ok(())
    }

    /// Rebuilds Theorem 1's weights with another learning rate or depth; keeps the context.
    pub fn construct(&mut self, alpha: f32, depth: u16) -> Result<(), Error> {
        self.models[0] =
            Model::<D>::td0(ConstructionSettings::new(GAMMA).step_size(alpha).depth(depth))?;
        self.predict();
        Ok(())
    }

    /// Forgets the trajectory; the next one repeats it.
    pub fn reset(&mut self) {
        self.context.clear();
        self.token = [0.0; K];
        self.rng = Rng::stream(self.seed.into(), RngStream::Evaluation);
        self.state = self.chain.task.initial_state(&mut self.rng);
        self.predictions = [UNKNOWN; MODELS];
        self.digest = Digest::EMPTY;
        let Chain { task, value, stationary, .. } = &self.chain;
        for s in 0..task.states() {
            task.transition_from(s).iter().take(task.states()).for_each(|p| self.digest.number(*p));
            for x in [task.reward()[s], value[s], stationary[s]] {
                self.digest.number(x);
            }
        }
        self.digest.number(self.chain.least_msve);
    }

    /// Observes one transition; then both transformers predict every value.
    pub fn step(&mut self) -> Result<(), Error> {
        let transition = self.chain.task.transition(&mut self.state, &mut self.rng);
        self.context.observe(&transition.phi, transition.reward, &transition.phi_next)?;
        let token = ictd_core::transition::token::<f32, D, K>(&transition, GAMMA);
        self.token = token.into();
        self.predict();
        Ok(())
    }

    fn predict(&mut self) {
        let Chain { task, value: truth, stationary, .. } = &self.chain;
        for (model, prediction) in self.models.iter().zip(&mut self.predictions) {
            *prediction = UNKNOWN;
            if let Ok(value) = model.value_function(&self.context) {
                let values = task.values_of(&value.weights);
                let msve = task.msve(stationary, &values, truth);
                *prediction = Prediction { values: values.into(), msve };
            }
        }
        self.digest.word(self.context.len());
        for prediction in &self.predictions {
            for value in prediction.values.iter().take(task.states()) {
                self.digest.number(*value);
            }
            self.digest.number(prediction.msve);
        }
    }

    /// Returns an entry of G / n, the only part of the context that the transformers read.
    pub fn statistic(&self, i: usize, j: usize) -> f32 {
        match self.context.statistic::<K>(GAMMA, 0) {
            Ok(Statistic { g, inverse_len }) if i < K && j < K => g[(i, j)] * inverse_len,
            _ => 0.0,
        }
    }
}

/// Runs a fixed sequence: a random MDP, an edit, another depth, Boyan's chain, 36 steps in all; and 36 samples of two random
/// signals. Returns its digest, which is the same on every platform.
pub fn story() -> Result<u64, Error> {
    let mut all = Digest::EMPTY;
    let mut live = Live::new()?;
    let mut steps = |live: &mut Live| -> Result<(), Error> {
        for _ in 0..12 {
            live.step()?;
        }
        all.word(live.digest.value());
        Ok(())
    };
    live.construct(0.5, 12)?;
    steps(&mut live)?;
    live.edit(1, &[1.0, 0.0, 2.0, 1.0, 0.5, 0.0, 0.0, 0.0], -0.75)?;
    live.construct(0.25, 5)?;
    steps(&mut live)?;
    live.sample(Kind::BoyanChain, MAX_STATES, 7)?;
    steps(&mut live)?;
    let mut signals = Signals::new(1)?;
    for _ in 0..36 {
        signals.advance();
    }
    all.word(signals.digest.value());
    Ok(all.value())
}
