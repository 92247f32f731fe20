//! `config.toml`: the command of a run, its first seed, and its options by their long names.

use crate::error::{Error, InFile as _};
use crate::files::{self, Kind};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

pub const FIRST_LINE: &str = "# Repeats this run: ictd --config config.toml\n";

pub fn table(options: &impl serde::Serialize) -> Result<Table, Error> {
    Table::try_from(options).map_err(|e| Error::Usage(e.to_string()))
}

pub fn to_text(command: &str, seed: u64, options: &impl serde::Serialize) -> Result<String, Error> {
    let mut table = Table::new();
    table.insert("command".into(), Value::String(command.into()));
    // Seeds stay below 2^63 (see `options::seed`).
    table.insert("seed".into(), Value::Integer(seed as i64));
    table.extend(self::table(options)?);
    let body = toml::to_string(&table).map_err(|e| Error::Usage(e.to_string()))?;
    Ok(format!("{FIRST_LINE}{body}"))
}

pub fn parse(text: &str) -> Result<Table, String> {
    text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map_or(1, |s| 1 + text[..s.start].matches('\n').count());
        format!("line {line}: {}; expected TOML", e.message())
    })
}

pub fn read_text(path: &Path, read: io::Result<Vec<u8>>) -> Result<String, Error> {
    let bytes = read.in_file(path)?;
    String::from_utf8(bytes).map_err(|_| Error::file(path, "expected UTF-8"))
}

pub fn text_of(run: &Path) -> Result<(PathBuf, String), Error> {
    let path = run.join("config.toml");
    let text = read_text(&path, files::read(&path, files::TEXT))?;
    Ok((path, text))
}

pub fn command_of(run: &Path) -> Result<String, Error> {
    let (path, text) = text_of(run)?;
    let table = parse(&text).in_file(&path)?;
    let command = table.get("command").and_then(|c| c.as_str()).map(str::to_owned);
    command.ok_or_else(|| Error::file(&path, "command is missing: expected a run's config.toml"))
}

pub struct FolderEntry {
    pub name: String,
    pub path: PathBuf,
    /// The `command` of its config.toml, if there is one; or why it is not a run: unreadable, damaged.
    pub command: Result<Option<String>, String>,
}

/// Returns the folders in a folder; none whose name begins with `.`.
pub fn inside(directory: &Path) -> Result<Vec<FolderEntry>, Error> {
    let entries = files::list(directory).in_file(directory)?;
    let inside = |(name, _): (OsString, Kind)| {
        let (name, path) = (name.to_string_lossy().into_owned(), directory.join(name));
        if name.starts_with('.') || !files::is_folder(&path) {
            return None;
        }
        let command = match files::kind(&path.join("config.toml")) {
            Kind::Nothing => Ok(None),
            _ => command_of(&path).map(Some).map_err(|e| e.one_line()),
        };
        Some(FolderEntry { name, path, command })
    };
    Ok(entries.into_iter().filter_map(inside).collect())
}
