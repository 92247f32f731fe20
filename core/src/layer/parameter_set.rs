use crate::scalar::Scalar;

/// The numbers of a layer that are trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum ParameterSet {
    /// P and Q, (K, K) each.
    #[default]
    Full,
    /// Ten numbers a layer, p1 to p5 and q1 to q5, which mean the same for every feature dimension:
    ///
    /// ```text
    /// P = [ p1 I  p2 I   0 ]      Q = [ q1 I  q2 I   0 ]
    ///     [ p3 I  p4 I   0 ]          [ q3 I  q4 I   0 ]
    ///     [  0     0    p5 ]          [  0     0    q5 ]
    /// ```
    ///
    /// These are the matrices that commute with every rotation of the features: where the tasks do not change under those,
    /// training never leaves them. TD(0) with step size alpha is p5 = 1, q1 = -alpha, q2 = alpha (Theorem 1).
    Equivariant,
}

impl ParameterSet {
    #[inline(always)]
    pub(crate) fn len(self, k: usize) -> usize {
        match self {
            ParameterSet::Full => k * k,
            ParameterSet::Equivariant => 5,
        }
    }

    pub(crate) fn write<S: Scalar>(self, k: usize, numbers: &[S], m: &mut [S]) {
        if self == ParameterSet::Full {
            return m.copy_from_slice(numbers);
        }
        m.fill(S::ZERO);
        for (x, diagonal) in numbers.iter().zip(diagonals(k)) {
            for i in diagonal {
                m[i] = *x;
            }
        }
    }

    /// Adds what the adjoint of such a matrix passes back.
    #[inline(always)]
    pub(crate) fn add_adjoint<S: Scalar>(self, k: usize, m_bar: &[S], numbers_bar: &mut [S]) {
        match self {
            ParameterSet::Full => {
                for (to, from) in numbers_bar.iter_mut().zip(m_bar) {
                    *to += *from;
                }
            }
            ParameterSet::Equivariant => {
                for (x, diagonal) in numbers_bar.iter_mut().zip(diagonals(k)) {
                    for i in diagonal {
                        *x += m_bar[i];
                    }
                }
            }
        }
    }

    /// Returns the five numbers whose matrix is the nearest: the mean of each diagonal.
    pub(crate) fn nearest<S: Scalar>(k: usize, m: &[S]) -> [S; 5] {
        let mut numbers = [S::ZERO; 5];
        ParameterSet::Equivariant.add_adjoint(k, m, &mut numbers);
        let share = S::ONE / S::from_count((k / 2) as u64);
        for x in &mut numbers[..4] {
            *x = share * *x;
        }
        numbers
    }
}

/// Returns the places in a (K, K) matrix, K = 2d + 1, of the diagonals that five numbers stand on.
#[inline(always)]
fn diagonals(k: usize) -> [core::iter::StepBy<core::ops::Range<usize>>; 5] {
    let d = k / 2;
    let corner = 2 * d * (k + 1);
    [(0, d), (d * k, d), (d, d), (d * k + d, d), (corner, 1)]
        .map(|(at, len)| (at..at + len * (k + 1)).step_by(k + 1))
}
