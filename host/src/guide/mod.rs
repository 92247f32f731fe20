//! The guide: one page for each thing that people want to do with this project, or know of it.
//!
//! | page | |
//! |---|---|
//! | [`run_directory`] | what a run leaves behind, file by file, and who reads it |
//! | [`sweep`] | many recipes, on one machine or a thousand |
//! | [`engines`] | a sweep on GNU parallel, Slurm, Ray, submitit, Snakemake: recipes that are tested |
//! | [`errors`] | exit codes, and what an error looks like |
//! | [`findings`] | what this project found about the paper, each with the command that shows it |
//! | [`same_bits`] | what "the same bits everywhere" covers, and what it does not |
//! | [`task`] | adding a task |
//! | [`algorithm`] | adding an algorithm |
//! | [`figure`] | adding a figure |
//! | [`platform`] | adding a platform |
//! | [`board`] | adding a board |
//! | [`testing`] | the tests that take longer: kills, fuzzing, soaks |

macro_rules! pages {
    ($($page:ident)*) => {$(
        #[doc = include_str!(concat!(stringify!($page), ".md"))]
        pub mod $page {}
    )*};
}

pages!(run_directory sweep engines errors findings same_bits task algorithm figure platform board testing);
