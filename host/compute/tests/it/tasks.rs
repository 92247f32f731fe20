//! The distributions from which a run draws its tasks.

use compute::Recipe;
use compute::capacity::STATES;
use compute::tasks::{AnyTask, RecipeTasks};
use ictd_core::rng::{Rng, RngStream};
use ictd_core::tasks::{Mrp, Task as _, TaskDistribution as _};

/// The paper's recipe with one setting changed, `NAME VALUE`.
fn recipe(changed: &str) -> Recipe {
    Recipe::default().with_settings(changed.split_once(' ')).unwrap()
}

/// The first tasks of a run of seed 7, and of those after it the third, as a run that goes on draws it.
fn tasks(typed: &str) -> [Mrp<f32, 4, STATES>; 3] {
    let distribution = RecipeTasks(recipe(typed));
    let mut rng = Rng::stream(7, RngStream::Tasks);
    [0, 1, 2].map(|number| match distribution.draw_in_turn(7, number, 0.9, &mut rng).unwrap() {
        AnyTask::Finite(task) => *task,
        AnyTask::CartPole(_) | AnyTask::Own(_) | AnyTask::Logged(_) => {
            panic!("a named finite task")
        }
    })
}

#[test]
fn what_is_fixed_is_that_of_the_first_task_and_the_rest_is_drawn_anew() {
    let free = tasks("");
    assert!(free[0].feature_map() != free[1].feature_map());
    for (typed, features, dynamics) in [("fixed features", 0, 1), ("fixed dynamics", 1, 0)] {
        let fixed = tasks(typed);
        assert_eq!(fixed[0], free[0]);
        for number in [1, 2] {
            let of = |fixed: usize| if fixed == 0 { &free[0] } else { &free[number] };
            let task = &fixed[number];
            assert_eq!(task.feature_map(), of(features).feature_map(), "{typed}");
            assert_eq!(task.transition_from(3), of(dynamics).transition_from(3), "{typed}");
            assert_eq!(task.reward(), free[number].reward(), "{typed}");
        }
    }
}

#[test]
fn features_and_rewards_of_one_tiling_are_uniform() {
    // The mean over tasks of the fourth moment is 1/5 of a uniform number, and larger of sums of four.
    let moments = |typed: &str| {
        let distribution = RecipeTasks(recipe(typed));
        let mut rng = Rng::new(3);
        let (mut largest, mut fourth) = (0.0_f32, 0.0);
        for _ in 0..2000 {
            let task: AnyTask<4> = distribution.draw_in_turn(3, 0, 0.9, &mut rng).unwrap();
            let state = task.initial_state(&mut rng);
            let phi = task.features(state);
            largest = largest.max(phi.amax());
            fourth += phi.map(|x| f64::from(x * x * x * x)).mean() / 2000.0;
        }
        (largest, fourth)
    };
    let (largest, fourth) = moments("task cartpole-uniform");
    assert!(largest < 1.0 && (fourth - 0.2).abs() < 0.02, "{largest} {fourth}");
    let (largest, fourth) = moments("task cartpole");
    assert!(largest > 1.0 && fourth > 0.25, "{largest} {fourth}");
}
