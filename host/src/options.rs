//! Value parsers of the command line, and the settings of a recipe as its options.

pub use compute::options::*;
pub use compute::recipe::typed;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches};
use compute::Recipe;
use compute::settings::{Accepts, SETTINGS, WordList, setting};
use serde::de::DeserializeOwned;
use std::ffi::OsStr;

/// Returns a command's options as typed in a line, among them what is said nowhere else: the defaults.
pub fn parsed<T: clap::Args>(line: &str) -> T {
    let command = T::augment_args(clap::Command::new("ictd").no_binary_name(true));
    let parsed = command.try_get_matches_from(line.split_whitespace());
    // The lines are the program's own.
    parsed.and_then(|found| T::from_arg_matches(&found)).unwrap_or_else(|e| e.exit())
}

/// Parses what a setting accepts; help and completion know its words.
#[derive(Clone)]
struct Told(Accepts);

impl TypedValueParser for Told {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let accepts = self.0;
        let parse = move |text: &str| accepts.parse(text).map(|_| text.to_owned());
        parse.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = self.0.words().iter().map(PossibleValue::new);
        (!self.0.words().is_empty()).then(|| Box::new(words) as _)
    }
}

/// Returns a parser of one of the words that a setting of a recipe accepts.
pub fn word<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    name: &'static str,
) -> impl TypedValueParser<Value = T> {
    words(setting(name).map_or(&[], |setting| setting.accepts.words()))
}

/// Returns a parser of one of some words.
pub fn words<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    words: WordList,
) -> impl TypedValueParser<Value = T> {
    Told(Accepts::Word(words)).try_map(|text| serde_json::from_value(text.into()))
}

/// Returns the settings of a recipe as options, each with its default.
pub(crate) fn settings() -> impl Iterator<Item = Arg> {
    SETTINGS.iter().map(|setting| {
        let argument = Arg::new(setting.name).long(setting.name).help(setting.help);
        let argument = match setting.accepts {
            Accepts::Switch => return argument.action(ArgAction::SetTrue),
            Accepts::Integers(..) => argument.value_name("MIN..MAX"),
            Accepts::Span(_) => argument.value_name("A..B"),
            Accepts::Words(_) => argument.value_name("TASK[,TASK]"),
            // As clap names those of other options.
            _ => argument.value_name(setting.name.to_uppercase().replace('-', "_")),
        };
        let argument = argument.value_parser(Told(setting.accepts));
        if setting.default.is_empty() { argument } else { argument.default_value(setting.default) }
    })
}

/// Returns the recipe that options say.
/// Errors: clap's, which its parsers have told before.
pub(crate) fn recipe(found: &ArgMatches) -> Result<Recipe, clap::Error> {
    let told = SETTINGS.iter().filter_map(|setting| match setting.accepts {
        Accepts::Switch => {
            Some((setting.name, if found.get_flag(setting.name) { "true" } else { "false" }))
        }
        _ => found.get_one::<String>(setting.name).map(|text| (setting.name, text.as_str())),
    });
    let refuse = |e| clap::Error::raw(clap::error::ErrorKind::ValueValidation, e);
    Recipe::default().with(told).map_err(refuse)
}
