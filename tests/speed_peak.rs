//! Measures the 32-bit floating-point operations per second of one core of x86-64, in thousand millions, by fused
//! multiply-adds of full registers that do not wait for each other.

use std::arch::x86_64::*;
use std::hint::black_box;
use std::time::Instant;

const REGISTERS: usize = 12;
const STEPS: usize = 1 << 16;

macro_rules! steps {
    ($name:ident, $feature:literal, $set:ident, $fused:ident) => {
        #[target_feature(enable = $feature)]
        fn $name() {
            let factor = $set(black_box(0.999));
            let mut sums = [factor; REGISTERS];
            for _ in 0..STEPS {
                for sum in &mut sums {
                    *sum = $fused(*sum, factor, factor);
                }
            }
            black_box(sums);
        }
    };
}

steps!(of_16, "avx512f", _mm512_set1_ps, _mm512_fmadd_ps);
steps!(of_8, "avx,fma", _mm256_set1_ps, _mm256_fmadd_ps);

fn main() {
    let (is_wide, mut best) = (is_x86_feature_detected!("avx512f"), f64::INFINITY);
    let lanes = if is_wide { 16 } else { 8 };
    assert!(is_x86_feature_detected!("fma"), "a processor with fused multiply-adds");
    for _ in 0..1000 {
        let start = Instant::now();
        // SAFETY: the instructions were found above.
        unsafe { if is_wide { of_16() } else { of_8() } };
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{:.1}", (2 * STEPS * REGISTERS * lanes) as f64 / best / 1e9);
}
