//! Detection of Wine. Only for tests of behaviour that Wine does not have; the product acts the same on both.

#[cfg(windows)]
pub use crate::system::is_wine;

/// Returns true for a Windows program under Wine.
#[cfg(not(windows))]
pub fn is_wine() -> bool {
    false
}
