//! What did a caller do before, as far as it adds to a risk? Must not know how it is kept.

/// What counts of a caller's past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// How many of the last ten calls were of high risk and approved by nobody.
    pub high: u8,
    /// How many calls were denied in the last hour.
    pub denials: u8,
    /// Whether something from outside was read in the last day.
    pub tainted: bool,
}
