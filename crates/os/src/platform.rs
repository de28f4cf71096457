//! The operating system's name, for messages to people and for tests. Code asks the other modules for a capability
//! instead.

/// The systems that Tenure runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Linux.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

/// Returns the present system.
pub fn here() -> Family {
    match std::env::consts::OS {
        "linux" => Family::Linux,
        "macos" => Family::MacOs,
        _ => Family::Windows,
    }
}

#[cfg(windows)]
pub use crate::system::is_wine;

/// Returns true for a Windows program under Wine. Only for tests of behaviour that Wine does not have.
#[cfg(not(windows))]
pub fn is_wine() -> bool {
    false
}
