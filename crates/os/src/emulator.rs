//! Whether the system is what it says. Only for what cannot be shown on an imitation; the product acts the same on both.

#[cfg(windows)]
pub use crate::system::is_wine;

/// Whether this is a program for Windows under Wine.
#[cfg(not(windows))]
pub fn is_wine() -> bool {
    false
}
