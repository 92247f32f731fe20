//! Results in words.

use serde_json::Value;

/// A value of the results; a list or an object is a dash.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Number(n) if n.is_f64() => short(n.as_f64().unwrap_or(f64::NAN)),
        Value::Number(n) => n.to_string(),
        _ => "–".into(),
    }
}

/// Four significant digits.
pub(super) fn short(x: f64) -> String {
    let size = x.abs();
    let text = if !x.is_finite() {
        "–".into()
    } else if size == 0.0 {
        "0".into()
    } else if (1e-3..1e4).contains(&size) {
        let digits = libm::log10(size).floor() as i32;
        format!("{x:.*}", (3 - digits).clamp(0, 6) as usize)
    } else {
        format!("{x:.2e}")
    };
    text.replace('-', "−")
}

/// The words for a name in the results.
pub(super) fn label(key: &str) -> String {
    match key {
        "p_bottom_right" => "P[−1, −1]".into(),
        "p_avg_abs_others" => "mean |other entries of P|".into(),
        "q_trace_upper_left" => "tr Q[:d, :d]".into(),
        "q_trace_upper_right" => "tr Q[:d, d:2d]".into(),
        "q_avg_abs_others" => "mean |other entries of Q|".into(),
        "vd" | "iws" | "ss" | "msve" => key.to_uppercase(),
        "msve_mean" => "MSVE".into(),
        "td0" => "TD(0)".into(),
        "td_lambda" => "TD(λ)".into(),
        other => other.strip_suffix("_mean").unwrap_or(other).replace('_', " "),
    }
}
