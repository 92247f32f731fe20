//! Writes the functions and types of each feature dimension, which C has no generics for, from templates.

use std::{env, fs, path::PathBuf};

/// The feature dimensions that C can have.
const DIMENSIONS: std::ops::RangeInclusive<usize> = 1..=16;

fn main() {
    let templates = ["src/dimension.rs.in", "src/context.rs.in"];
    for template in templates {
        println!("cargo:rerun-if-changed={template}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    let [dimension, context] =
        templates.map(|template| fs::read_to_string(template).expect("a template of the package"));
    let mut code = String::new();
    for d in DIMENSIONS {
        let with = |template: &str| template.replace("DIM", &d.to_string());
        let words = |bytes: usize| bytes.div_ceil(8).to_string();
        // Of the statistic under TD(lambda)'s mask, and of its trace, the largest reward and the weight.
        let (statistic, others) = (5 * d * d + 4 * d + 2, 4 * d + 3);
        code += &with(&dimension).replace("MODEL_WORDS", &words(8 * (2 * d + 1).pow(2) + 40));
        for (window, type_, bytes) in [
            ("growing", "Growing", 4 * (4 * statistic + others) + 32),
            ("forgetting", "Forgetting", 4 * (statistic + others) + 32),
        ] {
            let context = with(&context).replace("WORDS", &words(bytes));
            code += &context.replace("Window", type_).replace("window", window);
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("dimensions.rs"), code).expect("OUT_DIR is writable");
}
