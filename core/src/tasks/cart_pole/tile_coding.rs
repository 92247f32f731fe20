//! Tile coding (Sutton & Barto, section 9.5.4) of the four state variables.

use super::physics::{ANGLE_LIMIT, CartPoleState, POSITION_LIMIT};
use crate::error::{Error, ensure, out_of_range};
use crate::scalar::Real;

/// The most tilings.
pub const MAX_TILINGS: usize = 8;

/// The most displacements (tilings times tiles) that fit into one dimension's range.
const MAX_UNITS: usize = 32;

/// The range that each tiling divides: up to 1.25 times the limits of position and angle, and 2.5
/// for the two velocities. States beyond it belong to the outermost tiles.
const RANGE: [f64; 4] = [1.25 * POSITION_LIMIT, 2.5, 1.25 * ANGLE_LIMIT, 2.5];

/// Overlapping grids over the state space. A state lies in one tile of each.
///
/// Every grid has tiles of the same size, `tiles` per dimension over the range; tiling t is displaced
/// by t (1, 3, 5, 7) / `tilings` of a tile (the displacement vector that Sutton & Barto recommend),
/// and has one tile more per dimension for that. One tiling is one grid.
#[derive(Clone, Debug, PartialEq)]
pub struct TileCoding<R: Real> {
    tilings: u16,
    tiles: u16,
    /// -RANGE and 1 / (a displacement), per dimension.
    lower: [R; 4],
    scale: [R; 4],
}

impl<R: Real> TileCoding<R> {
    /// Returns `tilings` grids with `tiles` tiles per dimension, or [`Error::OutOfRange`] unless `tilings` is 1, 2, 4 or 8, `tiles` 1 to 8
    /// and their product at most 32. Four grids of two tiles have 324 tiles in all.
    pub fn new(tilings: u16, tiles: u16) -> Result<Self, Error> {
        ensure(matches!(tilings, 1 | 2 | 4 | 8), out_of_range("tilings", "1, 2, 4 or 8"))?;
        ensure(
            (1..=8).contains(&tiles) && tilings * tiles <= MAX_UNITS as u16,
            out_of_range("tiles", "1 to 8, and at most 32 / tilings"),
        )?;
        let units = (tilings * tiles) as f64;
        Ok(TileCoding {
            tilings,
            tiles,
            lower: RANGE.map(|range| R::from_f64(-range)),
            scale: RANGE.map(|range| R::from_f64(units / (2.0 * range))),
        })
    }

    /// Returns the number of tilings, which is the number of active tiles.
    #[inline(always)]
    pub fn tilings(&self) -> usize {
        self.tilings as usize
    }

    /// Tiles per dimension in each tiling: a single grid needs no extra tile for its displacement.
    fn tiles_per_dimension(&self) -> u16 {
        self.tiles + (self.tilings > 1) as u16
    }

    /// Returns the number of tiles of all tilings.
    pub fn total_tiles(&self) -> usize {
        let per_dimension = self.tiles_per_dimension() as usize;
        self.tilings() * per_dimension * per_dimension * per_dimension * per_dimension
    }

    /// Returns the lower edge of tile `tile` of the first tiling along a dimension (0: position, 1:
    /// velocity, 2: angle, 3: angular velocity), in that variable's unit.
    pub fn edge(&self, dimension: usize, tile: u16) -> R {
        debug_assert!(dimension < 4, "dimension {dimension} of 4");
        let range = RANGE[dimension % 4];
        let width = 2.0 * range / self.tiles as f64;
        R::from_f64(tile as f64 * width - range)
    }

    /// Returns the index of the active tile of each tiling; the first [`Self::tilings`] numbers count. Within
    /// a tiling the position varies slowest and the angular velocity fastest.
    #[inline(always)]
    pub fn active_tiles(&self, s: &CartPoleState<R>) -> [u16; MAX_TILINGS] {
        let mut active: [u16; MAX_TILINGS] = core::array::from_fn(|t| t as u16);
        let (per_dimension, tilings) = (self.tiles_per_dimension(), self.tilings);
        let variables = [s.position, s.velocity, s.angle, s.angular_velocity];
        for (i, variable) in variables.into_iter().enumerate() {
            let coordinate = (variable - self.lower[i]) * self.scale[i];
            // The conversion truncates, and saturates at the ends of `i32`.
            let coordinate = (coordinate.to_f64() as i32).clamp(0, MAX_UNITS as i32) as u16;
            for (t, index) in active.iter_mut().enumerate() {
                // The number of tilings is a power of two.
                let displacement = (t as u16 * (2 * i as u16 + 1)) & (tilings - 1);
                let tile = (coordinate + displacement) >> tilings.trailing_zeros();
                *index = *index * per_dimension + tile.min(per_dimension - 1);
            }
        }
        active
    }
}
