//! A transformer of Theorem 1's weights reads an endless stream in constant memory, and values a state now and then.
//!
//! ```sh
//! cargo run -p ictd-core --example streaming_context
//! ```

use ictd_core::model::ConstructionSettings;
use ictd_core::{Context, Error, Model};

/// A walker on a ring of 8 places is paid 1 at place 0. Features: the place's cosine and sine, and a constant.
fn features(place: u32) -> [f32; 3] {
    use core::f32::consts::FRAC_1_SQRT_2 as ROOT;
    const COSINES: [f32; 8] = [1.0, ROOT, 0.0, -ROOT, -1.0, -ROOT, 0.0, ROOT];
    [COSINES[place as usize % 8], COSINES[(place as usize + 6) % 8], 1.0]
}

fn main() -> Result<(), Error> {
    // 15 layers, each a step of TD(0); gamma = 0.8.
    const MODEL: Model<3> =
        match Model::<3>::td0(ConstructionSettings::new(0.8).step_size(0.5).depth(15)) {
            Ok(model) => model,
            Err(_) => panic!("alpha, depth or gamma is out of range"),
        };
    let mut context = Context::<3>::new();
    println!("context: {} bytes, whatever its length", size_of_val(&context));
    let mut place = 0;
    for t in 1..=100_000_u32 {
        let next = (place + 1) % 8;
        let reward = if place == 0 { 1.0 } else { 0.0 };
        context.observe(&features(place), reward, &features(next))?;
        place = next;
        if matches!(t, 1 | 2 | 4 | 8 | 1000 | 100_000) {
            let value = MODEL.value_function(&context)?;
            let [before, after] = [7, 1].map(|place| value.at(&features(place)));
            println!(
                "{t:6} transitions: value one step before the pay {before:.3}, after it {after:.3}"
            );
        }
    }
    Ok(())
}
