use super::*;
use ictd_core::linalg::linear_system::{least_squares, solve};
use ictd_core::linalg::{add_outer, mul_vector, transpose_mul_vector};

#[test]
fn products_are_nalgebras_own_bits() {
    fn check<const R: usize, const K: usize, const C: usize>() {
        let mut rng = Rng::new(1);
        for _ in 0..20 {
            // With zeros of both signs, whose sums must keep their sign.
            let mut number = || {
                let x: f32 = rng.uniform_in(-1.0, 1.0);
                if x.abs() < 0.1 { 0.0 * x } else { x }
            };
            let a = SMatrix::<f32, R, K>::from_fn(|_, _| number());
            let b = SMatrix::<f32, K, C>::from_fn(|_, _| number());
            let x = SVector::<f32, K>::from_fn(|_, _| number());
            assert_eq!(mul(&a, &b).map(f32::to_bits), (a * b).map(f32::to_bits));
            assert_eq!(mul_vector(&a, &x).map(f32::to_bits), (a * x).map(f32::to_bits));
            let (a_t, b_t) = (transpose(&a), transpose(&b));
            assert_eq!((a_t, b_t), (a.transpose(), b.transpose()));
            assert_eq!((mul_transpose(&a, &b_t), mul(&transpose(&a_t), &b)), (a * b, a * b));
            assert_eq!(transpose_mul_vector(&a_t, &x), a * x);
            let (mut outer, y): (_, SVector<f32, C>) = (b, b_t.column(0).into());
            add_outer(&mut outer, &x, &y);
            assert_eq!(outer, b + x * y.transpose());
        }
    }
    check::<9, 9, 9>();
    check::<5, 4, 7>();
    check::<7, 5, 4>();
    check::<3, 1, 3>();
    check::<2, 2, 2>();
    check::<1, 1, 1>();
}

#[test]
fn solves_the_leading_block_only() {
    let a = SMatrix::<f64, 3, 3>::new(0.0, 2.0, 9.0, 4.0, 1.0, 9.0, 9.0, 9.0, f64::NAN);
    let b = SVector::from([4.0, 6.0, f64::NAN]);
    assert_eq!(solve(a, b, 2, "A"), Ok(SVector::from([1.0, 2.0, 0.0])));
}

#[test]
fn names_a_singular_and_a_non_finite_system() {
    let (a, b) = (SMatrix::<f64, 2, 2>::new(1.0, 2.0, 2.0, 4.0), SVector::from([1.0, 1.0]));
    assert_eq!(solve(a, b, 2, "A"), Err(Error::Singular { system: "A" }));
    assert_eq!(least_squares(a, b, [2, 2], "A"), Err(Error::Singular { system: "A" }));
    let nan = SVector::from([f64::NAN, 1.0]);
    assert_eq!(solve(a, nan, 2, "A"), Err(Error::NonFinite { parameter: "A" }));
    assert!(matches!(solve(a, b, 3, "A"), Err(Error::CapacityExceeded { .. })));
}

#[test]
fn least_squares_residual_is_orthogonal_to_the_columns() {
    let a = SMatrix::<f64, 4, 2>::new(1.0, 0.3, -2.0, 1.0, 0.5, 0.7, 9.0, 9.0);
    let b = SVector::from([1.0, -1.0, 2.0, 9.0]);
    let x = least_squares(a, b, [3, 2], "A").unwrap();
    let residual = (a * x - b).fixed_rows::<3>(0).into_owned();
    let orthogonal = a.fixed_rows::<3>(0).transpose() * residual;
    assert!(orthogonal.norm() < 1e-14, "{orthogonal}");
}
