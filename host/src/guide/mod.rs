//! The guide: one page for each thing that people want to do with this project, or to know about it.
//!
//! | to use it | |
//! |---|---|
//! | [`commands`] | the commands, their exit codes, and what an error looks like |
//! | [`signals`] | predicting signals, and judging the predictions |
//! | [`logs`] | values of logged transitions: layouts, features, and which values to trust |
//! | [`universal`] | the one model for every dimension, length and scale: how good it is, and what made it so |
//! | [`control`] | learning to act by values read in context, and evaluating one policy by another's actions |
//! | [`run_directory`] | the files that a run leaves behind, and who reads them |
//! | [`sweep`] | many recipes, on one machine or a thousand |
//! | [`engines`] | a sweep on GNU parallel, Slurm, Ray, submitit or Snakemake |
//!
//! | to know about it | |
//! |---|---|
//! | [`findings`] | what this project found about the paper |
//! | [`same_bits`] | what "the same bits everywhere" covers, and on which platforms it was tested |
//! | [`speed`] | how long training takes |
//! | [`limits`] | what is not supported, and what a file may cost |
//! | [`testing`] | how all of this is tested |
//!
//! | to add to it | |
//! |---|---|
//! | [`task`], [`algorithm`], [`figure`] | a task, an algorithm that a transformer executes, a figure |
//! | [`platform`], [`board`] | a platform of the digest table, a board of the firmware |

macro_rules! pages {
    ($($page:ident)*) => {$(
        #[doc = include_str!(concat!(stringify!($page), ".md"))]
        pub mod $page {}
    )*};
}

pages!(
    commands signals logs universal control run_directory sweep engines
    findings same_bits speed limits testing
    task algorithm figure platform board
);
