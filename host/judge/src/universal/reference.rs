//! Parameters that the search may not fall behind in any cell of tasks.

use ictd_core::universal::UniversalParameters;

/// Reference parameters, from searches of other losses; three of them were set by hand. A cell's error counts more where it
/// exceeds theirs.
pub const REFERENCE: UniversalParameters<f32> = UniversalParameters {
    log_ridge: [
        [0.9451613, -0.49283504, 1.1951612, 0.1951652],
        [4.9951963, -0.004811697, 1.7047471, 0.3047908],
        [4.8103175, -1.307728, -1.3631859, 0.4627972],
    ],
    log_bellman_mix: [0.45484027, -0.7481616],
    ridge_mix_logit: [[0.6048464, 3.5951574], [-4.8477483, 4.1022367]],
    gate_logits: [
        [
            -1.0368292,
            -4.0148196,
            -0.28182098,
            -1.6882019,
            -5.3801966,
            1.0271479,
            -0.031166948,
            1.382168,
            0.111169636,
        ],
        [
            14.969163,
            -0.5548309,
            -7.309832,
            -0.43181056,
            -7.720839,
            2.4101806,
            2.5481641,
            -0.93983895,
            -2.7368352,
        ],
    ],
    tabular: [-0.3, 0.5, 5.0],
};
