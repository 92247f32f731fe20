//! The tests of the library's modules, each at its module's own path. Inside the library they would compile and
//! optimise all of it once more.

mod commands {
    mod compare {
        mod contents;
    }
    mod predict {
        mod returns;
    }
}
mod experiments;
mod files;
pub(crate) mod formats;
mod page {
    mod command_line;
    mod numbers;
    mod section;
}
mod program;
mod run {
    mod info;
    mod lock;
    mod report;
    mod transaction;
}
mod train {
    mod seed_files;
}
