//! A quasi-Newton (BFGS) minimiser that requests one evaluation at a time, so that it can be stored and resumed between any two
//! of them.

use serde::{Deserialize, Serialize};

/// The state of a search over n numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct QuasiNewton {
    /// The best point so far.
    pub(super) best: Vec<f64>,
    /// The loss at `best`; `None` before the first evaluation.
    pub(super) loss: Option<f64>,
    gradient: Vec<f64>,
    /// The estimate of the inverse Hessian, (n, n), row by row.
    inverse_hessian: Vec<f64>,
    direction: Vec<f64>,
    /// The step along the direction to the next point.
    step: f64,
    /// Whether the direction is that of steepest descent.
    is_steepest: bool,
    /// The number of steps in a row that gained little.
    small_steps: usize,
}

/// A decrease must be at least this share of the one that the slope predicts.
const SUFFICIENT: f64 = 1e-4;
/// The largest change of a number in one step.
const LONGEST: f64 = 1.0;
/// The largest change of a number in the shortest step before another direction is tried.
const SHORTEST: f64 = 1e-7;

impl QuasiNewton {
    pub(super) fn new(start: &[f64]) -> Self {
        QuasiNewton {
            best: start.to_vec(),
            loss: None,
            gradient: vec![0.0; start.len()],
            inverse_hessian: vec![0.0; start.len() * start.len()],
            direction: vec![0.0; start.len()],
            step: 0.0,
            is_steepest: true,
            small_steps: 0,
        }
    }

    /// Returns true if all arrays fit n numbers; those of a stored search may not.
    pub(super) fn fits(&self, n: usize) -> bool {
        let lengths = [self.best.len(), self.gradient.len(), self.direction.len()];
        lengths == [n; 3] && self.inverse_hessian.len() == n * n
    }

    /// Returns the point to evaluate next.
    pub(super) fn question(&self) -> Vec<f64> {
        self.best.iter().zip(&self.direction).map(|(x, d)| x + self.step * d).collect()
    }

    /// Continues with a similar function, which is evaluated next at the best point.
    pub(super) fn renew(&mut self) {
        (self.loss, self.small_steps, self.step) = (None, 0, 0.0);
    }

    /// Advances the search by the loss and gradient at [`QuasiNewton::question`], and returns true if it has ended: twenty
    /// steps in a row have gained less than `tolerance` times the loss, or no step along the gradient gains.
    pub(super) fn tell(&mut self, loss: f64, gradient: &[f64], tolerance: f64) -> bool {
        let Some(before) = self.loss else {
            self.loss = Some(loss);
            self.gradient = gradient.to_vec();
            self.turn();
            return false;
        };
        let slope = dot(&self.gradient, &self.direction);
        // False if the loss is NaN.
        let falls = loss <= before + SUFFICIENT * self.step * slope;
        if !falls {
            // The minimum of the parabola through both losses and the slope.
            let curved = loss - before - self.step * slope;
            let least = -0.5 * self.step * self.step * slope / curved;
            let within = if least.is_finite() { least } else { 0.0 };
            self.step = within.clamp(0.1 * self.step, 0.5 * self.step);
            if self.step * largest(&self.direction) < SHORTEST {
                if self.is_steepest {
                    return true;
                }
                self.restart();
            }
            return false;
        }
        let x = self.question();
        let moved: Vec<f64> = x.iter().zip(&self.best).map(|(a, b)| a - b).collect();
        let turned: Vec<f64> = gradient.iter().zip(&self.gradient).map(|(a, b)| a - b).collect();
        (self.best, self.loss, self.gradient) = (x, Some(loss), gradient.to_vec());
        self.update(&moved, &turned);
        self.turn();
        let gained = before - loss;
        self.small_steps = if gained < tolerance * loss.abs() { self.small_steps + 1 } else { 0 };
        self.small_steps >= 20
    }

    /// Updates the inverse Hessian by a step and the change of the gradient.
    fn update(&mut self, moved: &[f64], turned: &[f64]) {
        let (n, curvature) = (moved.len(), dot(moved, turned));
        // False if a number is NaN.
        let is_curved = curvature > 1e-10 * f64::sqrt(dot(moved, moved) * dot(turned, turned));
        if !is_curved {
            return;
        }
        if std::mem::replace(&mut self.is_steepest, false) {
            self.inverse_hessian.fill(0.0);
            let diagonal = self.inverse_hessian.iter_mut().step_by(n + 1);
            diagonal.for_each(|x| *x = curvature / dot(turned, turned));
        }
        let of: Vec<f64> = self.inverse_hessian.chunks(n).map(|row| dot(row, turned)).collect();
        let both = (1.0 + dot(turned, &of) / curvature) / curvature;
        for i in 0..n {
            for j in 0..n {
                self.inverse_hessian[i * n + j] +=
                    both * moved[i] * moved[j] - (of[i] * moved[j] + moved[i] * of[j]) / curvature;
            }
        }
    }

    /// Sets the next direction: quasi-Newton, or steepest descent if that one is unknown or not downhill.
    fn turn(&mut self) {
        let rows = self.inverse_hessian.chunks(self.gradient.len());
        self.direction = rows.map(|row| -dot(row, &self.gradient)).collect();
        if self.is_steepest || dot(&self.direction, &self.gradient) >= 0.0 {
            return self.restart();
        }
        let longest = largest(&self.direction);
        self.step = if longest > LONGEST { LONGEST / longest } else { 1.0 };
    }

    fn restart(&mut self) {
        self.direction = self.gradient.iter().map(|x| -x).collect();
        self.step = 0.3 / largest(&self.gradient).max(1e-12);
        self.is_steepest = true;
    }
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
