//! The family of the operating system, for messages to people. Code asks the other modules for a capability
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
