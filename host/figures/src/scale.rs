//! Scales: they map data to page coordinates, and place ticks.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    log: bool,
    low: f64,
    high: f64,
    /// The page coordinates of low and high.
    from: f64,
    to: f64,
}

impl Scale {
    /// Returns a scale over low..high (in data units; positive for log), never empty.
    pub(crate) fn new(log: bool, low: f64, high: f64, from: f64, to: f64) -> Self {
        let (mut low, mut high) =
            if log { (libm::log10(low), libm::log10(high)) } else { (low, high) };
        if !(low.is_finite() && high.is_finite()) {
            (low, high) = (0.0, 1.0);
        }
        if high - low <= 1e-12 * high.abs().max(low.abs()) {
            let room = if log { 0.5 } else { high.abs().max(1.0) * 0.1 };
            (low, high) = (low - room, high + room);
        }
        Scale { log, low, high, from, to }
    }

    /// Returns the page coordinate of a value; a log axis shows values that it cannot represent at its low end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = match self.log {
            true if value > 0.0 => libm::log10(value).max(self.low),
            true => self.low,
            false => value,
        };
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    pub(crate) fn ticks(&self, count: f64) -> Vec<(f64, String)> {
        if self.log { self.decades(count) } else { self.linear_ticks(count) }
    }

    fn linear_ticks(&self, count: f64) -> Vec<(f64, String)> {
        let rough = (self.high - self.low) / count;
        let magnitude = libm::exp10(libm::log10(rough).floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|m| m * magnitude);
        let step = steps.into_iter().find(|s| *s >= rough * 0.999).unwrap_or(10.0 * magnitude);
        let mut digits = (-libm::log10(step).floor()).max(0.0);
        if (step * libm::exp10(digits)).fract() > 1e-6 {
            digits += 1.0;
        }
        let digits = digits as usize;
        let slack = 1e-9 * (self.high - self.low);
        let first = ((self.low - slack) / step).ceil() as i64;
        let last = ((self.high + slack) / step).floor() as i64;
        // All digits of a large number would not fit next to the axis.
        let label = |x: f64| match step >= 1e6 && x != 0.0 {
            true => format!("{x:.2e}"),
            false => format!("{x:.digits$}"),
        };
        (first..=last).map(|i| (i as f64 * step, minus(&label(i as f64 * step)))).collect()
    }

    fn decades(&self, count: f64) -> Vec<(f64, String)> {
        let first = (self.low - 1e-9).ceil() as i32;
        let last = (self.high + 1e-9).floor() as i32;
        let step = (((last - first) as f64 / count).ceil() as i32).max(1);
        let tick = |e: i32| (libm::exp10(f64::from(e)), format!("10{}", superscript(e)));
        (first..=last).filter(|e| (last - e) % step == 0).map(tick).collect()
    }
}

fn minus(text: &str) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().any(|c| ('1'..='9').contains(&c)) => format!("−{rest}"),
        Some(rest) => rest.to_owned(),
        None => text.to_owned(),
    }
}

fn superscript(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raised = |c: char| c.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize]);
    exponent.to_string().chars().map(raised).collect()
}
