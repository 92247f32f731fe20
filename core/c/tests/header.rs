//! `ictd.h` is what cbindgen makes of the code. `ICTD_BLESS=1 cargo test -p ictd-c` writes it.

use cbindgen::{Builder, Config, DocumentationStyle, EnumConfig, Language, RenameRule, Style};
use std::{env, fs};

/// The header's first lines, for its reader.
const HEAD: &str = "\
/* ictd: transformers that learn temporal-difference methods in context.
 *
 * The caller owns all memory: declare a struct, let the function that ends in _init, _read or _td fill it, and
 * pass its address. No function allocates, keeps a pointer or has state of its own. A struct is plain data: copied,
 * it is another one.
 *
 * Rules. A pointer is null (the call answers ICTD_STATUS_NULL), or points to what the parameter says: a struct
 * that was filled, d floats for features (phi, phi_next) of an ictd_..._d function, `len` bytes. What is written to
 * is used by nobody else during the call.
 *
 * The same calls give the same bits on every platform with IEEE 754 floats, rounding to nearest, and subnormal
 * numbers (not flushed to zero).
 *
 * Made from the code; do not edit. */";

fn header() -> String {
    let config = Config {
        language: Language::C,
        header: Some(HEAD.into()),
        include_guard: Some("ICTD_H".into()),
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
        no_includes: true,
        cpp_compat: true,
        usize_is_size_t: true,
        style: Style::Both,
        documentation_style: DocumentationStyle::C99,
        line_length: 118,
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..Default::default()
        },
        ..Default::default()
    };
    let generated = concat!(env!("OUT_DIR"), "/dimensions.rs");
    let mut text = Vec::new();
    let builder = Builder::new().with_config(config).with_src("src/lib.rs").with_src(generated);
    builder.generate().unwrap().write(&mut text);
    // The rules stand at the head, once.
    let text = String::from_utf8(text).unwrap();
    text.replace("//\n// # Safety\n// The rules at the head of ictd.h.\n", "")
}

#[test]
fn the_header_is_that_of_the_code() {
    let header = header();
    if env::var_os("ICTD_BLESS").is_some() {
        fs::write("ictd.h", &header).unwrap();
    }
    let stored = fs::read_to_string("ictd.h").unwrap_or_default();
    assert!(stored == header, "ictd.h is not that of the code: ICTD_BLESS=1 cargo test -p ictd-c");
}
