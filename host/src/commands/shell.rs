//! `ictd completions` and `ictd man`.

use crate::error::Error;
use crate::run::report::Report;
use serde::Serialize;

/// Print a completion script for a shell
///
/// For example `ictd completions bash > ~/.local/share/bash-completion/completions/ictd`.
#[derive(Clone, Debug, clap::Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Print the manual page
///
/// For example `ictd man > ictd.1 && man ./ictd.1`.
#[derive(Clone, Debug, clap::Args)]
pub struct Man {}

/// What is printed.
#[derive(Serialize)]
struct Found {
    text: String,
}

/// The completion script.
/// Errors: [`Error::Usage`] if the script is no text.
pub fn completions(options: &Completions, mut command: clap::Command) -> Result<Report, Error> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "ictd", &mut script);
    text_report("completions", script)
}

/// The manual page: `ictd` with its global options, then each command.
/// Errors: [`Error::Usage`] if the page cannot be rendered.
pub fn man(command: clap::Command) -> Result<Report, Error> {
    let refuse = |e: std::io::Error| Error::Usage(e.to_string());
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(refuse)?;
    for command in command.get_subcommands() {
        let heading = format!(".SH \"ICTD {}\"\n", command.get_name().to_uppercase());
        page.extend(heading.into_bytes());
        let man = clap_mangen::Man::new(command.clone());
        man.render_description_section(&mut page).map_err(refuse)?;
        man.render_options_section(&mut page).map_err(refuse)?;
    }
    text_report("man", page)
}

fn text_report(command: &str, text: Vec<u8>) -> Result<Report, Error> {
    let text = String::from_utf8(text).map_err(|e| Error::Usage(e.to_string()))?;
    Ok(Report { text: text.clone(), ..Report::of(command, &Found { text }) })
}
