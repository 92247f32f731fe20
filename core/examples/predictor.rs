//! A predictor learns a sensor's signal while it reads it: a prediction, a band and a surprise for each sample.
//!
//! ```sh
//! cargo run -p ictd-core --example predictor
//! ```

use ictd_core::{Error, Predictor};

fn main() -> Result<(), Error> {
    let mut predictor = Predictor::<1>::new([5.0])?; // the mean of about the next 5 samples
    for t in 0..400 {
        let sample = if t == 350 { 65535.0 } else { (t % 20) as f32 };
        let seen = predictor.observe(sample);
        let [next] = seen.predictions;
        if t % 50 == 0 || t == 350 {
            let (low, mean, high) = (next.low, next.mean, next.high);
            let surprise = seen.surprise;
            println!(
                "sample {sample:7}: next {mean:5.1} in [{low:.1}, {high:.1}], surprise {surprise:.4}"
            );
        }
    }
    Ok(())
}
