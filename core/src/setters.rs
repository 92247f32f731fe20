//! Settings are made by a constructor and methods, not as literals, so that a field more breaks no program.

/// Defines for each field of settings a method that returns them with another value of it.
macro_rules! setters {
    ($($field:ident: $T:ty),* $(,)?) => {$(
        #[doc = concat!("Returns the settings with another `", stringify!($field), "`.")]
        #[must_use]
        pub const fn $field(mut self, $field: $T) -> Self {
            self.$field = $field;
            self
        }
    )*};
}
pub(crate) use setters;
