//! `ictd.h` is generated from the code by cbindgen: `ICTD_BLESS=1 cargo test -p ictd-c` writes it.

use cbindgen::{
    Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, Language, RenameRule, Style,
};
use std::{env, fs};

/// The header's first lines, for its reader.
const HEAD: &str = "\
/** @file
 * ictd: in-context temporal-difference learning. Predictions of sensor signals, and value functions of streams.
 *
 * The caller owns all memory. Storage is an array of uint64_t whose length a macro gives; it may be static, on the stack or on
 * the heap. An _init function initialises the storage, and the other functions take its address. No function allocates
 * memory, keeps a pointer or has state of its own. Storage is plain data: a copy is an independent object.
 *
 *     static uint64_t storage[ICTD_PREDICTOR_WORDS];
 *     const float horizon = 10.0f;
 *     ictd_predictor_init(storage, sizeof storage, &horizon, 1);
 *
 * A pointer that is null makes the call return ICTD_STATUS_NULL. Otherwise it must point to what the parameter means:
 * storage; one float per feature (phi, phi_next); an outlook; or `len` bytes. Nothing else may access an output during the call.
 *
 * Overwritten storage: the first 8 bytes say what lies there, and are checked at each call. Storage that is zeroed, was never
 * set up, is of another kind, or was overwritten at its start is refused (ICTD_STATUS_BAD_HANDLE). What lies behind is not
 * checked, and must not be overwritten.
 *
 * Threads and interrupts: a function may be called from any thread and from an interrupt, for it does not block, wait, allocate
 * or share anything. One object is used by one call at a time: if an interrupt observes, mask it around other calls with
 * that object. Different objects are independent. The README has the stack and the instructions of each call.
 *
 * The same calls give the same bits on every platform with IEEE 754 floats, rounding to nearest, and subnormal numbers
 * (not flushed to zero): ictd_check_environment() finds out. A program that is compiled with -ffast-math can call the library,
 * which is compiled without. Such a program cannot rely on isnan or isinf: it calls ictd_predictor_observe_missing for a sample
 * that is missing, and looks at `known` instead of infinite ends. Linked with -ffast-math, some compilers let the whole
 * process flush subnormal numbers.
 *
 * This file is generated from the code: do not edit it. */";

/// The sizes of storage, which are functions of a number.
const SIZES: &str = "
/** The most horizons of a predictor: 1 to 4, as the library was built. CMake and Zephyr define it; with another build system
 * define it for all files that include this one. */
#ifndef ICTD_MAX_HORIZONS
#define ICTD_MAX_HORIZONS 4
#endif

/** The length of a predictor's storage in words of 8 bytes. */
#define ICTD_PREDICTOR_WORDS ((size_t)(82 + 18 * ICTD_MAX_HORIZONS))

/** The number of features that storage has room for: 4, 8 or 16. */
#define ICTD_FEATURE_CAPACITY(features) ((features) <= 4 ? (size_t)4 : (features) <= 8 ? (size_t)8 : (size_t)16)

/** The length of the storage of a context that remembers every transition, for 1 to 16 features. */
#define ICTD_CONTEXT_WORDS(features) \\
  (16 * ICTD_FEATURE_CAPACITY(features) * ICTD_FEATURE_CAPACITY(features) + 18 * ICTD_FEATURE_CAPACITY(features) + 20)

/** The length of the storage of a context that forgets. */
#define ICTD_FORGETTING_WORDS(features) \\
  (4 * ICTD_FEATURE_CAPACITY(features) * ICTD_FEATURE_CAPACITY(features) + 6 * ICTD_FEATURE_CAPACITY(features) + 16)
";

fn header() -> String {
    let [major, minor, patch] = [
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    ];
    let abi = ictd_c::ICTD_ABI_VERSION & 255;
    let macros = format!(
        "\n/** The release; ICTD_ABI_VERSION is that of the interface. */\n#define ICTD_VERSION_MAJOR {major}\n\
         #define ICTD_VERSION_MINOR {minor}\n#define ICTD_VERSION_PATCH {patch}\n{SIZES}\n\
         /** What ictd_abi_version() returns, if this header fits the library. */\n\
         #define ICTD_ABI_VERSION ((uint32_t)({abi} + 256 * ICTD_MAX_HORIZONS))\n"
    );
    let config = Config {
        language: Language::C,
        header: Some(HEAD.into()),
        include_guard: Some("ICTD_H".into()),
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
        no_includes: true,
        after_includes: Some(macros),
        cpp_compat: true,
        usize_is_size_t: true,
        style: Style::Both,
        documentation_style: DocumentationStyle::Doxy,
        line_length: 118,
        export: ExportConfig {
            exclude: ["ICTD_ABI_VERSION", "ICTD_MAX_HORIZONS"].map(String::from).into(),
            ..Default::default()
        },
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..Default::default()
        },
        ..Default::default()
    };
    let mut text = Vec::new();
    let builder = Builder::new().with_config(config).with_src("src/lib.rs");
    builder.generate().unwrap().write(&mut text);
    // The rules stand at the head, once.
    let text = String::from_utf8(text).unwrap();
    let text = text.replace(" *\n * # Safety\n * The rules at the head of ictd.h.\n", "");
    // A comment of one line on one line.
    let text = text.replace("/**\n * ", "/** ").replace("/**\n   * ", "/** ");
    text.replace("\n */", " */").replace("\n   */", " */")
}

#[test]
fn the_header_is_that_of_the_code() {
    let header = header();
    if env::var_os("ICTD_BLESS").is_some() {
        fs::write("ictd.h", &header).unwrap();
    }
    let stored = fs::read_to_string("ictd.h").unwrap_or_default();
    assert!(stored == header, "to write ictd.h: ICTD_BLESS=1 cargo test -p ictd-c");
}
