//! `ictd completions`.

use crate::run::report::Report;
use clap_complete::Shell;

/// Print the script with which a shell completes the command line: `ictd completions bash > FILE`
#[derive(Clone, Debug, clap::Args)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

impl Completions {
    pub fn run(&self, mut command: clap::Command) -> Report {
        let (mut script, name) = (Vec::new(), command.get_name().to_owned());
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        let mut report = Report::new("completions");
        report.text = String::from_utf8_lossy(&script).into_owned();
        report
    }
}
