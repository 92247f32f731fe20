//! Counts the floating-point operations (each addition, multiplication, division, maximum, square root and exponential) that
//! one window of a batch of 64 takes in training, its share of what the batch computes once included.
//!
//!     cargo run -p tests --example flops -- linear|softmax|rnn LAYERS STORED D N TRACE_DECAY

use ictd_core::rng::Rng;
use ictd_core::scalar::Scalar;
use ictd_core::training::{
    LayerInput, LinearNetwork, LinearShape, Network, Parameters as _, Rnn, SoftmaxNetwork, Targets,
    Windows,
};
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};
use std::sync::atomic::{AtomicU64, Ordering};

const WINDOWS: usize = 64;
static COUNT: AtomicU64 = AtomicU64::new(0);

/// A number that counts what is computed with it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counted(f32);

fn count(x: f32) -> Counted {
    COUNT.fetch_add(1, Ordering::Relaxed);
    Counted(x)
}

macro_rules! operations {
    ($($operation:ident $f:ident, $assign:ident $f_assign:ident;)*) => {$(
        impl $operation for Counted {
            type Output = Self;
            fn $f(self, other: Self) -> Self {
                count(self.0.$f(other.0))
            }
        }
        impl $assign for Counted {
            fn $f_assign(&mut self, other: Self) {
                *self = self.$f(other);
            }
        }
    )*};
}

operations! {
    Add add, AddAssign add_assign;
    Sub sub, SubAssign sub_assign;
    Mul mul, MulAssign mul_assign;
}

impl Div for Counted {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        count(self.0 / other.0)
    }
}

impl Neg for Counted {
    type Output = Self;
    fn neg(self) -> Self {
        Counted(-self.0)
    }
}

impl Scalar for Counted {
    type Element = f32;
    type PerLane<T: Clone + Debug> = [T; 1];
    const LANES: usize = 1;
    const ZERO: Self = Counted(0.0);
    const ONE: Self = Counted(1.0);

    fn per_lane<T: Clone + Debug>(mut make: impl FnMut(usize) -> T) -> [T; 1] {
        [make(0)]
    }
    fn splat(x: f32) -> Self {
        Counted(x)
    }
    fn lane(&self, _: usize) -> f32 {
        self.0
    }
    fn set_lane(&mut self, _: usize, x: f32) {
        self.0 = x;
    }
    fn from_f64(x: f64) -> Self {
        Counted(x as f32)
    }
    fn from_count(n: u64) -> Self {
        Counted(n as f32)
    }
    fn sqrt(self) -> Self {
        count(self.0.sqrt())
    }
    fn exp2(self) -> Self {
        count(self.0.exp2())
    }
    fn tanh(self) -> Self {
        count(self.0.tanh())
    }
    fn abs(self) -> Self {
        Counted(self.0.abs())
    }
    fn max(self, other: Self) -> Self {
        count(if other.0 > self.0 { other.0 } else { self.0 })
    }
    fn is_finite(self) -> bool {
        self.0.is_finite()
    }
}

/// Returns the operations of a batch, divided by its windows.
fn per_window(mut network: impl Network<Counted>, n: usize) -> u64 {
    let (mut rng, d) = (Rng::new(1), network.dim());
    let mut numbers = |len| (0..len).map(|_| Counted(rng.uniform())).collect::<Vec<_>>();
    let (features, rewards) = (numbers(d * (n + WINDOWS + 2)), numbers(n + WINDOWS + 1));
    let windows = Windows::new(d, &features, &rewards, n, Counted(0.9)).unwrap();
    network.initialise_lane(0, &mut Rng::new(1));
    let mut gradient = network.parameters().zeros_like();
    COUNT.store(0, Ordering::Relaxed);
    network.batch_gradient(&windows, Targets::Bootstrapped, &mut gradient).unwrap();
    COUNT.load(Ordering::Relaxed) / WINDOWS as u64
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [network, numbers @ .., trace_decay] = &arguments[..] else { panic!("NETWORK, numbers") };
    let numbers: Vec<usize> = numbers.iter().map(|x| x.parse().unwrap()).collect();
    let [layers, stored, d, n] = numbers[..] else { panic!("LAYERS STORED D N") };
    let counted = std::thread::Builder::new().stack_size(256 << 20).spawn({
        let (network, trace_decay) = (network.clone(), trace_decay.parse::<f32>().unwrap());
        move || match (network.as_str(), d) {
            ("rnn", 4) => per_window(Rnn::<_, 10, 4, 3, 64>::zeros(LayerInput::Current), n),
            ("softmax", 4) => {
                per_window(SoftmaxNetwork::<_, 9, 4, 4, 64>::zeros(stored, layers).unwrap(), n)
            }
            ("softmax", _) => {
                let network = SoftmaxNetwork::<_, 33, 8, 8, 256>::zeros(stored, layers).unwrap();
                per_window(network.with_dim(d).unwrap(), n)
            }
            _ => {
                let trace_decay = (trace_decay > 0.0).then_some(trace_decay);
                let shape = LinearShape { trace_decay, ..LinearShape::new(d, stored, layers) };
                per_window(LinearNetwork::zeros(shape, |len| vec![Counted(0.0); len]).unwrap(), n)
            }
        }
    });
    println!("{}", counted.unwrap().join().unwrap());
}
