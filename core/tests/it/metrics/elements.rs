//! The elements of Theorem 1's P and Q.

use ictd_core::constructions::{learning_rate, td0};
use ictd_core::layer::Layer;
use ictd_core::metrics::Elements;

#[test]
fn theorem_1_has_nothing_elsewhere_whatever_its_sign() {
    let td = td0::<f64, 4, 9>(&learning_rate(0.5));
    let negated = Layer { p: -td.p, q: -td.q };
    for (layer, sign) in [(td, 1.0), (negated, -1.0)] {
        let want = Elements {
            sign,
            p_bottom_right: 1.0,
            p_avg_abs_others: 0.0,
            q_trace_upper_left: -2.0,
            q_trace_upper_right: 2.0,
            q_avg_abs_others: 0.0,
        };
        assert_eq!(Elements::of(&layer), want);
    }
}
