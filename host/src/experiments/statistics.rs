//! Numbers of many seeds or tasks in a few.

/// The mean and its standard error, std(ddof = 0) / sqrt(count), summed in order.
pub fn mean_and_stderr(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let (mut count, mut sum) = (0.0, 0.0);
    for x in values.clone() {
        count += 1.0;
        sum += x;
    }
    let mean = sum / count;
    let mut squares = 0.0;
    for x in values {
        squares += (x - mean) * (x - mean);
    }
    (mean, (squares / count).sqrt() / count.sqrt())
}

/// Lower quartile, median and upper quartile, by linear interpolation; NaN of nothing.
pub fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.retain(|x| x.is_finite());
    values.sort_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|share| {
        let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
        let place = share * last as f64;
        let below = place as usize;
        let above = (below + 1).min(last);
        values[below] + (place - below as f64) * (values[above] - values[below])
    })
}

/// The median with its quartiles, as text.
pub fn spread(values: &[f64]) -> String {
    let [lower, median, upper] = quartiles(values.to_vec());
    format!("{median:.3} ({lower:.3} to {upper:.3})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_error_is_that_of_the_mean_with_ddof_0() {
        let (mean, stderr) = mean_and_stderr([1.0, 2.0, 3.0, 6.0].into_iter());
        assert_eq!((mean, stderr), (3.0, (3.5f64).sqrt() / 2.0));
        assert!(mean_and_stderr([1.0, f64::NAN].into_iter()).0.is_nan());
    }

    #[test]
    fn quartiles_interpolate_and_skip_what_is_not_finite() {
        assert_eq!(quartiles(vec![4.0, 1.0, 3.0, 2.0, 5.0, f64::NAN]), [2.0, 3.0, 4.0]);
        assert_eq!(quartiles(vec![1.0, 2.0]), [1.25, 1.5, 1.75]);
        assert!(quartiles(Vec::new())[1].is_nan());
    }
}
