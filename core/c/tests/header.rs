//! `ictd.h` is generated from the code by cbindgen: `ICTD_BLESS=1 cargo test -p ictd-c` writes it.

use cbindgen::{
    Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, Language, RenameRule, Style,
};
use std::mem::offset_of;
use std::{env, fs};

/// The header's first lines, for its reader.
const HEAD: &str = "\
/** @file
 * ictd: in-context temporal-difference learning. Predictions of sensor signals, and value functions of streams.
 *
 * The caller owns all memory. An object is a variable of its type, which may be static, on the stack or on the heap. An _init
 * function sets it up, and the other functions take its address. No function allocates memory, keeps a pointer or has state of
 * its own. Objects are plain data: a copy is independent.
 *
 *     static ictd_predictor predictor;
 *     const float horizon = 10.0f;
 *     ictd_predictor_init(&predictor, sizeof predictor, &horizon, 1);
 *
 *     static ICTD_CONTEXT(4) pump; // of 4 features
 *     ictd_context_init(&pump.context, sizeof pump, 4, 0.9f, 1.0f);
 *
 * Every struct has one layout, whatever the library was built with and whatever the compiler's options are: numbers of fixed
 * width, and no enum. Each object has a type of its own, so that one in the place of another does not compile.
 *
 * A pointer that is null makes the call return ICTD_STATUS_NULL. Otherwise it must point to what the parameter means:
 * an object; one float per feature (phi, phi_next); an outlook; or `len` bytes. Nothing else may access an output during the call.
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

/// Returns the sizes of storage, which are functions of a number.
fn sizes() -> String {
    let of_predictor = ictd_c::predictor_words(0);
    let of_horizon = ictd_c::predictor_words(1) - of_predictor;
    let by_capacity = |words: fn(usize) -> usize| {
        let [four, eight, sixteen] = [4, 8, 16].map(words);
        format!(
            "((features) <= 4 ? (size_t){four} : (features) <= 8 ? (size_t){eight} : (size_t){sixteen})"
        )
    };
    let growing = by_capacity(ictd_c::growing_words);
    let forgetting = by_capacity(ictd_c::forgetting_words);
    format!(
        "
/** A predictor has room for so many horizons. A program that defines fewer, as CMake and Zephyr do for a library that was built
 * for fewer, saves memory; for a library that was built for more, ictd_predictor_init refuses. */
#ifndef ICTD_MAX_HORIZONS
#define ICTD_MAX_HORIZONS 4
#elif ICTD_MAX_HORIZONS < 1 || ICTD_MAX_HORIZONS > 4
#error \"ICTD_MAX_HORIZONS is 1 to 4\"
#endif

/** The size of a predictor in words of 8 bytes. */
#define ICTD_PREDICTOR_WORDS ((size_t)({of_predictor} + {of_horizon} * ICTD_MAX_HORIZONS))

/** The size of a context that remembers every transition, for 1 to 16 features, in words of 8 bytes. */
#define ICTD_CONTEXT_WORDS(features) {growing}

/** The size of a context that forgets. */
#define ICTD_FORGETTING_WORDS(features) {forgetting}

/** The type of the storage of a context that remembers every transition: `context` is what functions take. */
#define ICTD_CONTEXT(features)                     \\
  union {{                                          \\
    ictd_context context;                          \\
    uint64_t words[ICTD_CONTEXT_WORDS(features)];  \\
  }}

/** The type of the storage of a context that forgets. */
#define ICTD_FORGETTING(features)                    \\
  union {{                                            \\
    ictd_context context;                            \\
    uint64_t words[ICTD_FORGETTING_WORDS(features)]; \\
  }}
"
    )
}

/// Returns the checks of a struct's size, alignment and offsets.
macro_rules! layout {
    ($name:ident: $($field:ident),*) => {{
        let [size, align] = [size_of::<ictd_c::$name>(), align_of::<ictd_c::$name>()];
        let name = stringify!($name);
        let mut text = format!("ICTD_ASSERT(sizeof({name}) == {size} && ICTD_ALIGNOF({name}) == {align});\n");
        $(
            let (field, offset) = (stringify!($field), offset_of!(ictd_c::$name, $field));
            text += &format!("ICTD_ASSERT(offsetof({name}, {field}) == {offset});\n");
        )*
        text
    }};
}

/// Returns the checks that the program's compiler lays the structs out like the library's.
fn layouts() -> String {
    let structs = layout!(ictd_prediction: mean, low, high, known)
        + &layout!(ictd_outlook: predictions, depth, surprise, recent, status)
        + &layout!(ictd_value_function: features, linearity, level, value_clip, weights, feature_clip)
        + &layout!(ictd_model: features, gamma, p, q);
    format!(
        "\
/* The layout is the library's. (C99 cannot check it.) */
#if defined __cplusplus || __STDC_VERSION__ >= 201112L
#ifdef __cplusplus
#define ICTD_ASSERT(condition) static_assert(condition, \"the layout of ictd.h\")
#define ICTD_ALIGNOF(type) alignof(type)
#else
#define ICTD_ASSERT(condition) _Static_assert(condition, \"the layout of ictd.h\")
#define ICTD_ALIGNOF(type) _Alignof(type)
#endif
ICTD_ASSERT(sizeof(ictd_status) == 4 && sizeof(ictd_sample_status) == 4);
ICTD_ASSERT(sizeof(ictd_predictor) == 8 * ICTD_PREDICTOR_WORDS);
ICTD_ASSERT(ICTD_ALIGNOF(ictd_predictor) == ICTD_ALIGNOF(uint64_t));
ICTD_ASSERT(sizeof(ictd_context) == 8 && ICTD_ALIGNOF(ictd_context) == ICTD_ALIGNOF(uint64_t));
ICTD_ASSERT(sizeof(ictd_trainer) == 8 * ICTD_TRAINER_WORDS);
ICTD_ASSERT(ICTD_ALIGNOF(ictd_trainer) == ICTD_ALIGNOF(uint64_t));
{structs}#undef ICTD_ASSERT
#undef ICTD_ALIGNOF
#endif

"
    )
}

fn header() -> String {
    let [major, minor, patch] = [
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    ];
    let macros = format!(
        "\n/** The release; ICTD_ABI_VERSION is that of the interface. */\n#define ICTD_VERSION_MAJOR {major}\n\
         #define ICTD_VERSION_MINOR {minor}\n#define ICTD_VERSION_PATCH {patch}\n{}",
        sizes()
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
            exclude: ["ICTD_PREDICTOR_WORDS", "ICTD_MAX_HORIZONS"].map(String::from).into(),
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
    let text = text.replace("\n */", " */").replace("\n   */", " */");
    // Rust takes any integer for a status.
    let text = text.replace("ictd_message(int32_t", "ictd_message(ictd_status");
    // The typedefs are enough.
    let text = text.replace("(struct ", "(").replace(" struct ictd_", " ictd_");
    let text =
        text.replace("const struct ", "const ").replace("typedef ictd_", "typedef struct ictd_");
    text.replacen("#ifdef __cplusplus\nextern", &(layouts() + "#ifdef __cplusplus\nextern"), 1)
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
