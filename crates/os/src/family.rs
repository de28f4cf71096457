//! Which of the systems this is. Code asks for what it needs by the other modules; this is for what people are told.

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

/// This system.
pub fn here() -> Family {
    match std::env::consts::OS {
        "linux" => Family::Linux,
        "macos" => Family::MacOs,
        _ => Family::Windows,
    }
}
