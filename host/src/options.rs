//! Value parsers of the command line, and the settings of a recipe as its options.

pub use compute::options::*;
pub use compute::words::Word;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};
use compute::Recipe;
use compute::settings::{self, SETTINGS, SettingSpec};
use compute::words::WordList;
use std::ffi::OsStr;

pub fn parsed<T: clap::Args>(line: &str) -> T {
    let command = T::augment_args(clap::Command::new("ictd").no_binary_name(true));
    let parsed = command.try_get_matches_from(line.split_whitespace());
    // The lines are the program's own.
    parsed.and_then(|found| T::from_arg_matches(&found)).unwrap_or_else(|e| e.exit())
}

/// Two names are alike if at least this share of the longer one need not be changed.
const ALIKE: f64 = 0.7;

/// Returns a hint at the accepted name that is nearly the given one; empty without one.
pub fn hint(given: &str, accepted: &[&str]) -> String {
    let alike = |name: &&&str| strsim::normalized_damerau_levenshtein(given, name);
    let nearest = accepted.iter().max_by(|a, b| alike(a).total_cmp(&alike(b)));
    let near = nearest.filter(|name| alike(name) >= ALIKE);
    near.map_or(String::new(), |name| format!(" (did you mean `{name}`?)"))
}

/// Returns the setting of a recipe with this name; the error hints at the name that is meant.
pub fn setting(name: &str) -> Result<&'static SettingSpec, String> {
    let names: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
    settings::setting(name).map_err(|reason| reason + &hint(name, &names))
}

/// Returns a parser of a word; help and completion list the words.
pub fn word<T: Word>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(T::WORDS).try_map(|word| T::parse_word(&word))
}

/// Accepts the text of a setting, which [`recipe`] parses.
#[derive(Clone)]
struct SettingText(WordList);

impl TypedValueParser for SettingText {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = self.0.iter().map(PossibleValue::new);
        (!self.0.is_empty()).then(|| Box::new(words) as _)
    }
}

pub(crate) fn arguments() -> impl Iterator<Item = Arg> {
    let defaults = Recipe::default();
    SETTINGS.iter().map(move |setting| {
        // The form of clap's own names.
        let named = || setting.name.to_uppercase().replace('-', "_");
        let argument = Arg::new(setting.name)
            .long(setting.name)
            .help(setting.help)
            .value_name(setting.form.map_or_else(named, str::to_owned))
            .value_parser(SettingText(setting.words));
        match (setting.get)(&defaults) {
            Some(default) => argument.default_value(default.to_string()),
            None => argument,
        }
    })
}

pub(crate) fn recipe(found: &ArgMatches) -> Result<Recipe, clap::Error> {
    let mut recipe = Recipe::default();
    for setting in SETTINGS {
        if let Some(text) = found.get_one::<String>(setting.name) {
            recipe.set(setting.name, text).map_err(|invalid| {
                clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("--{invalid}"))
            })?;
        }
    }
    if found.value_source("states") == Some(ValueSource::DefaultValue) {
        recipe.take_default_states();
    }
    Ok(recipe)
}
