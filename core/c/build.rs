//! Writes the functions and types of each feature dimension, which C has no generics for, from templates.

use std::{env, fs, path::PathBuf};

/// The feature dimensions that C can have.
const DIMENSIONS: std::ops::RangeInclusive<usize> = 1..=16;

/// How many signals C can have predicted at once, with how many features each.
const SIGNALS: [(usize, usize); 4] = [(1, 4), (2, 3), (3, 2), (4, 2)];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let [dimension, context, signal, predictor] = ["dimension", "context", "signal", "predictor"]
        .map(|name| {
            let template = format!("src/{name}.rs.in");
            println!("cargo:rerun-if-changed={template}");
            fs::read_to_string(template).expect("a template of the package")
        });
    // Of the statistic of C cumulants under TD(lambda)'s mask, and of its trace, the largest rewards and the weight.
    let statistic = |d: usize, c: usize| 5 * d * d + c * (4 * d + 2);
    let others = |d: usize, c: usize| 4 * d + 3 * c;
    let words = |bytes: usize| bytes.div_ceil(8).to_string();
    let mut code = String::new();
    for d in DIMENSIONS {
        let with = |template: &str| template.replace("DIM", &d.to_string());
        code += &with(&dimension).replace("MODEL_WORDS", &words(8 * (2 * d + 1).pow(2) + 40));
        for (window, type_, copies) in [("growing", "Growing", 4), ("forgetting", "Forgetting", 1)]
        {
            let bytes = 4 * (copies * statistic(d, 1) + others(d, 1)) + 32;
            let context = with(&context).replace("WORDS", &words(bytes));
            code += &context.replace("Window", type_).replace("window", window);
        }
        code += &with(&signal).replace("WORDS", &words(4 * d + 24));
    }
    for (n, each) in SIGNALS {
        let d = n * each;
        let context = 4 * (statistic(d, n) + others(d, n)) + 32;
        // The gate, the signal, two values, the weights of 5 value functions, what belongs to 4 horizons, the surprise.
        let channel = 4 * (3 + d + 5 + 3 + 5 * d + 4 * 14 + 12);
        let bytes = context + n * channel + 8 * d + 32;
        code += &predictor
            .replace("WORDS", &words(bytes))
            .replace("SIGNALS", &n.to_string())
            .replace("DIM", &d.to_string());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("dimensions.rs"), code).expect("OUT_DIR is writable");
}
