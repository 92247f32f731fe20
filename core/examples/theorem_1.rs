//! Theorem 1: the forward pass of a transformer with constructed weights is batch TD(0), layer by layer.
//!
//! ```sh
//! cargo run -p ictd-core --features research --example theorem_1
//! ```

use ictd_core::attention::{Linear, Td0};
use ictd_core::linalg::dot;
use ictd_core::nalgebra::{SMatrix, SVector};
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::tasks::{Mrp, Task, boyan_chain};
use ictd_core::td::updates;
use ictd_core::transformer::Transformer;
use ictd_core::{Error, constructions};

const D: usize = 4;
const K: usize = 2 * D + 1;

fn main() -> Result<(), Error> {
    let (alpha, gamma, rng) = (0.2, 0.9, &mut Rng::new(1));
    let chain: Mrp<f64, D, 10> = boyan_chain(10, D, rng)?;
    let context = chain.trajectory::<30>(30, rng)?;
    let query = chain.features(3);

    let c = SMatrix::<f64, D, D>::from_diagonal_element(alpha);
    let prompt = Prompt::<f64, K, 30>::discounted(&context, gamma, &query)?;

    let mut w = SVector::<f64, D>::zeros();
    println!("layers   transformer      batch TD(0)      difference");
    for layers in 1..=15 {
        w = updates::td0(&w, &c, &context, gamma)?;
        let transformer =
            Transformer::<_, 1>::autoregressive(constructions::td0::<f64, D, K>(&c), layers)?;
        let (v_tf, v_td) = (transformer.value(&prompt, &Linear(Td0))?, dot(&w, &query));
        println!("{layers:6}   {v_tf:.12}   {v_td:.12}   {:.0e}", (v_tf - v_td).abs());
    }
    Ok(())
}
