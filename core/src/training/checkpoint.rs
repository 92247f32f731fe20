//! A trainer's state as bytes, one record for each lane.
//!
//! All numbers are little-endian; floats are stored by their bits. A record does not depend on how
//! seeds were grouped into lanes. It has no checksum, and its numbers may be any (those of a run that diverged
//! are NaN): if it could be damaged, in flash or in a file, store its [`crc32`](crate::model::crc32), too, and
//! compare it before [`MultiTaskTd::restore`].
//!
//! | field | bytes |
//! |---|---|
//! | `ICTR` | 4 |
//! | version (1), bytes of a float (4 or 8), optimiser (0 plain TD, 1 Adam), 0 | 4 |
//! | number of parameters p | 4 |
//! | seed, tasks done | 8 + 8 |
//! | state of the task stream | 32 |
//! | parameters | p floats |
//! | Adam: steps, beta_1^k, beta_2^k (`f64`), means, squares | 24 + 2 p floats |
//! | alpha of the batch-TD reference, and its Adam | 24 + 3 floats |

use super::{Adam, MultiTaskTd, Network, Parameters};
use crate::bytes::Reader;
use crate::error::{Error, Result};
use crate::rng::Rng;
use crate::scalar::{Real, Scalar};
use crate::tasks::TaskDistribution;

const MAGIC: [u8; 4] = *b"ICTR";
const VERSION: u8 = 1;

impl<S: Scalar, N: Network<S>, E: TaskDistribution<S::Element, D>, const D: usize, const T: usize>
    MultiTaskTd<S, N, E, D, T>
{
    /// Returns the length of a lane's record in bytes.
    pub fn record_len(&self) -> usize {
        let mut len = 0;
        self.save(0, |bytes| len += bytes.len());
        len
    }

    fn header(&self) -> [u8; 12] {
        let p = (self.network.parameters().numbers().count() as u32).to_le_bytes();
        let float = size_of::<S::Element>() as u8;
        let [a, b, c, d] = MAGIC;
        [a, b, c, d, VERSION, float, self.adam.is_some() as u8, 0, p[0], p[1], p[2], p[3]]
    }

    /// Hands the record of one lane, piece by piece, to `put`. Call it between tasks. After
    /// [`MultiTaskTd::restore`] the run continues as if it had never stopped.
    pub fn save(&self, lane: usize, mut put: impl FnMut(&[u8])) {
        let lane = lane % S::LANES;
        put(&self.header());
        put(&self.seeds.as_ref()[lane].to_le_bytes());
        put(&self.tasks_done.to_le_bytes());
        put(&self.rngs.as_ref()[lane].state());
        put_lane(self.network.parameters(), lane, &mut put);
        if let Some(adam) = &self.adam {
            put_adam::<S, _>(adam, lane, &mut put);
        }
        put_lane(&[self.reference.alpha], lane, &mut put);
        put_adam::<S, _>(&self.reference_adam, lane, &mut put);
    }

    /// Takes up the state that [`MultiTaskTd::save`] gave: `record(lane)` is the record of each lane.
    /// The settings, the network's shape and the distribution must be those of the saved run.
    /// Returns [`Error::OutOfRange`], naming the checkpoint, if a record has another shape, version or number type, if its
    /// task stream's state is all zeros, or if the lanes have done different numbers of tasks. Nothing has changed then.
    pub fn restore<'a>(&mut self, record: impl Fn(usize) -> &'a [u8]) -> Result<()> {
        let header = self.header();
        let refused = |expected| Err(Error::OutOfRange { parameter: "checkpoint", expected });
        let mut tasks_done = None;
        for lane in 0..S::LANES {
            let bytes = record(lane);
            if bytes.len() != self.record_len() || bytes[..12] != header {
                return refused("a record of this version, number type, network and optimiser");
            }
            let mut reader = Reader { rest: &bytes[20..] };
            let done = reader.integer(8);
            if take_stream(&mut reader).is_none() {
                return refused("a task stream whose state is not all zeros");
            }
            if *tasks_done.get_or_insert(done) != done {
                return refused("lanes that have done the same number of tasks");
            }
        }
        self.tasks_done = tasks_done.unwrap_or_default();
        // The tasks of a state that was replaced are not its own.
        self.tasks = S::per_lane(|_| None);
        for lane in 0..S::LANES {
            let mut reader = Reader { rest: &record(lane)[12..] };
            self.seeds.as_mut()[lane] = reader.integer(8);
            reader.integer(8);
            if let Some(rng) = take_stream(&mut reader) {
                self.rngs.as_mut()[lane] = rng;
            }
            take_lane(self.network.parameters_mut(), lane, &mut reader);
            if let Some(adam) = &mut self.adam {
                take_adam::<S, _>(adam, lane, &mut reader);
            }
            take_lane(core::array::from_mut(&mut self.reference.alpha), lane, &mut reader);
            take_adam::<S, _>(&mut self.reference_adam, lane, &mut reader);
        }
        Ok(())
    }
}

fn put_lane<S: Scalar>(parameters: &impl Parameters<S>, lane: usize, put: &mut impl FnMut(&[u8])) {
    for x in parameters.numbers() {
        put(&x.lane(lane).bits().to_le_bytes()[..<S::Element as Real>::BYTES]);
    }
}

fn put_adam<S: Scalar, P: Parameters<S>>(adam: &Adam<P>, lane: usize, put: &mut impl FnMut(&[u8])) {
    put(&adam.steps.to_le_bytes());
    put(&adam.beta1_power.bits().to_le_bytes());
    put(&adam.beta2_power.bits().to_le_bytes());
    put_lane(&adam.mean, lane, put);
    put_lane(&adam.square, lane, put);
}

fn take_stream(from: &mut Reader) -> Option<Rng> {
    Rng::from_state(core::array::from_fn(|_| from.integer(1) as u8))
}

fn take_lane<S: Scalar>(parameters: &mut impl Parameters<S>, lane: usize, from: &mut Reader) {
    for x in parameters.numbers_mut() {
        x.set_lane(lane, from.number());
    }
}

fn take_adam<S: Scalar, P: Parameters<S>>(adam: &mut Adam<P>, lane: usize, from: &mut Reader) {
    adam.steps = from.integer(8);
    adam.beta1_power = from.number();
    adam.beta2_power = from.number();
    take_lane(&mut adam.mean, lane, from);
    take_lane(&mut adam.square, lane, from);
}
