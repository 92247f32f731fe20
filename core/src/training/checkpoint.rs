//! A trainer's state as bytes, one record for each lane.
//!
//! All numbers are little-endian; floats are stored by their bits. A record does not depend on how seeds were grouped into
//! lanes. Its numbers may be any (those of a run that diverged are NaN). [`MultiTaskTd::save`] gives a record of version 1, which
//! has no checksum; [`MultiTaskTd::write`] writes one of version 2, which is what a chip keeps in its flash.
//!
//! | field | bytes |
//! |---|---|
//! | `ICTR` | 4 |
//! | version (1 or 2), bytes of a float (4 or 8), optimiser (0 plain TD, 1 Adam), 0 | 4 |
//! | number of parameters p | 4 |
//! | (version 2) how many bytes there are in all | 4 |
//! | seed, tasks done | 8 + 8 |
//! | state of the task stream | 32 |
//! | parameters | p floats |
//! | Adam: steps, beta_1^k, beta_2^k (`f64`), means, squares | 24 + 2 p floats |
//! | alpha of the batch-TD reference, and its Adam | 24 + 3 floats |
//! | (version 2) CRC-32 (IEEE 802.3) of all bytes before it | 4 |

use super::{Adam, MultiTaskTd, Network, Parameters};
use crate::bytes::{CHECKSUM, Reader, open, write};
use crate::error::{Result, ensure, out_of_range};
use crate::rng::Rng;
use crate::scalar::{Real, Scalar};
use crate::tasks::TaskDistribution;

const MAGIC: &str = "ICTR";
/// The version of a record without a checksum, and of one with it.
const PLAIN: u8 = 1;
const CHECKED: u8 = 2;
/// Bytes of `ICTR`, version and shape.
const HEADER: usize = 12;

impl<S: Scalar, N: Network<S>, E: TaskDistribution<S::Element, D>, const D: usize, const T: usize>
    MultiTaskTd<S, N, E, D, T>
{
    /// Returns the length of a lane's record in bytes.
    pub fn record_len(&self) -> usize {
        let mut len = 0;
        self.save(0, |bytes| len += bytes.len());
        len
    }

    /// Returns the version, and what a record must have in common with this trainer.
    fn kind(&self, version: u8) -> [u8; HEADER - MAGIC.len()] {
        let [a, b, c, d] = (self.network.parameters().numbers().count() as u32).to_le_bytes();
        let float = size_of::<S::Element>() as u8;
        [version, float, self.adam.is_some() as u8, 0, a, b, c, d]
    }

    /// Hands the record of one lane, piece by piece, to `put`, and nothing for a lane that does not exist. Call it between
    /// tasks. After [`MultiTaskTd::restore`] the run continues as if it had never stopped.
    pub fn save(&self, lane: usize, mut put: impl FnMut(&[u8])) {
        if lane < S::LANES {
            put(MAGIC.as_bytes());
            put(&self.kind(PLAIN));
            self.put_state(lane, &mut put);
        }
    }

    fn put_state(&self, lane: usize, put: &mut impl FnMut(&[u8])) {
        let (seeds, rngs) = (self.seeds.as_ref(), self.rngs.as_ref());
        let (Some(seed), Some(rng)) = (seeds.get(lane), rngs.get(lane)) else { return };
        put(&seed.to_le_bytes());
        put(&self.tasks_done.to_le_bytes());
        put(&rng.state());
        put_lane(self.network.parameters(), lane, put);
        if let Some(adam) = &self.adam {
            put_adam::<S, _>(adam, lane, put);
        }
        put_lane(&[self.reference.step_size], lane, put);
        put_adam::<S, _>(&self.reference_adam, lane, put);
    }

    /// Takes up the state that [`MultiTaskTd::save`] gave: `record(lane)` is the record of each lane.
    /// The settings, the network's shape and the distribution must be those of the saved run.
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange), naming the checkpoint, if a record has another shape, version or
    /// number type, if its task stream's state is all zeros, or if the lanes have done different numbers of tasks. Nothing has
    /// changed then.
    pub fn restore<'a>(&mut self, record: impl Fn(usize) -> &'a [u8]) -> Result<()> {
        let (len, kind) = (self.record_len(), self.kind(PLAIN));
        for lane in 0..S::LANES {
            let bytes = record(lane);
            let content = bytes.strip_prefix(MAGIC.as_bytes());
            ensure(
                bytes.len() == len && content.is_some_and(|content| content.starts_with(&kind)),
                out_of_range(
                    "checkpoint",
                    "a record of this version, number type, network and optimiser",
                ),
            )?;
        }
        self.take_state(|lane| record(lane).get(HEADER..).unwrap_or_default())
    }

    /// Reads the states of all lanes, or refuses them and changes nothing.
    fn take_state<'a>(&mut self, state: impl Fn(usize) -> &'a [u8]) -> Result<()> {
        let mut tasks_done = None;
        for lane in 0..S::LANES {
            let mut reader = Reader { rest: state(lane) };
            let [_, done] = [(); 2].map(|()| reader.integer(8));
            ensure(
                take_stream(&mut reader).is_some(),
                out_of_range("checkpoint", "a task stream whose state is not all zeros"),
            )?;
            ensure(
                *tasks_done.get_or_insert(done) == done,
                out_of_range("checkpoint", "lanes that have done the same number of tasks"),
            )?;
        }
        self.tasks_done = tasks_done.unwrap_or_default();
        // The tasks of a state that was replaced are not its own.
        self.tasks = S::per_lane(|_| None);
        self.batches_done = 0;
        let lanes = self.seeds.as_mut().iter_mut().zip(self.rngs.as_mut()).enumerate();
        for (lane, (seed, rng)) in lanes {
            let mut reader = Reader { rest: state(lane) };
            [*seed, _] = [(); 2].map(|()| reader.integer(8));
            if let Some(stream) = take_stream(&mut reader) {
                *rng = stream;
            }
            take_lane(self.network.parameters_mut(), lane, &mut reader);
            if let Some(adam) = &mut self.adam {
                take_adam::<S, _>(adam, lane, &mut reader);
            }
            take_lane(core::array::from_mut(&mut self.reference.step_size), lane, &mut reader);
            take_adam::<S, _>(&mut self.reference_adam, lane, &mut reader);
        }
        Ok(())
    }
}

impl<R: Real, N: Network<R>, E: TaskDistribution<R, D>, const D: usize, const T: usize>
    MultiTaskTd<R, N, E, D, T>
{
    /// Returns the length of the stored trainer in bytes.
    pub fn byte_len(&self) -> usize {
        self.record_len() + 4 + CHECKSUM
    }

    /// Writes the trainer to the front of a buffer of [`MultiTaskTd::byte_len`] bytes or more, with a checksum, and returns the
    /// bytes written. Call it between tasks.
    /// Returns [`Error::Stored`](crate::Error::Stored) if the buffer is shorter.
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8]> {
        let len = self.byte_len();
        write(buffer, len as u64, |writer| {
            writer.bytes(MAGIC.as_bytes());
            writer.bytes(&self.kind(CHECKED));
            writer.bytes(&(len as u32).to_le_bytes());
            self.put_state(0, &mut |piece| writer.bytes(piece));
        })
    }

    /// Reads a stored trainer from the start of bytes; the run then continues as if it had never stopped. The settings, the
    /// network's shape and the distribution must be those of the stored run.
    /// Returns [`Error::Stored`](crate::Error::Stored) for anything that does not begin with an intact trainer of this network and
    /// optimiser, and [`Error::OutOfRange`](crate::Error::OutOfRange) for a task stream whose state is all zeros. Nothing has
    /// changed then.
    pub fn read(&mut self, bytes: &[u8]) -> Result<()> {
        let parts = [
            ("format version", 1),
            ("scalar type (4: f32, 8: f64)", 1),
            ("optimiser (0: plain TD, 1: Adam)", 2),
            ("number of parameters", 4),
        ];
        let content = open(bytes, self.byte_len(), &self.kind(CHECKED), MAGIC, &parts)?;
        self.take_state(|_| content.rest)
    }
}

fn put_lane<S: Scalar>(parameters: &impl Parameters<S>, lane: usize, put: &mut impl FnMut(&[u8])) {
    for x in parameters.numbers() {
        let bytes = x.lane(lane).bits().to_le_bytes();
        put(bytes.get(..<S::Element as Real>::BYTES).unwrap_or(&bytes));
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
