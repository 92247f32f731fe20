//! Which seeds share a group: seeds are spread so that all threads are done as early as possible.

/// How many lanes a group may have, and what a task costs in a group of that many: time relative to
/// one seed alone, as measured on the machine at hand's instruction set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Width {
    /// The number of lanes.
    pub lanes: usize,
    /// The time of a group's task.
    pub cost: f64,
}

/// The number of lanes for each group of `seeds` seeds on `threads` threads, and how many of the
/// seeds each takes, in their order. The choice changes no bit of any result.
pub fn groups(seeds: usize, threads: usize, widths: &[Width]) -> Vec<(usize, usize)> {
    let best = widths.iter().map(|width| {
        let mut groups = vec![(width.lanes, width.lanes); seeds / width.lanes];
        let rest = seeds % width.lanes;
        if rest > 0 {
            let fits = |w: &&Width| w.lanes >= rest;
            let smallest = widths.iter().filter(fits).min_by_key(|w| w.lanes);
            groups.push((smallest.map_or(width.lanes, |w| w.lanes), rest));
        }
        (makespan(&groups, threads, widths), groups)
    });
    let best = best.min_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or(vec![(1, 1); seeds], |(_, groups)| groups)
}

/// When the last thread is done, if each takes the next group as soon as it is free.
fn makespan(groups: &[(usize, usize)], threads: usize, widths: &[Width]) -> f64 {
    let cost = |lanes| widths.iter().find(|w| w.lanes == lanes).map_or(1.0, |w| w.cost);
    let mut busy = vec![0.0_f64; threads.max(1)];
    for (lanes, _) in groups {
        if let Some(first_free) = busy.iter_mut().min_by(|a, b| a.total_cmp(b)) {
            *first_free += cost(*lanes);
        }
    }
    busy.into_iter().fold(0.0, f64::max)
}
