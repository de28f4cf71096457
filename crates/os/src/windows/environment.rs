//! The environment variables of a process.

/// Variables that programs expect, wherever they are started.
pub const EVERYDAY: &[&str] = &[
    "ALLUSERSPROFILE",
    "APPDATA",
    "CommonProgramFiles",
    "CommonProgramFiles(x86)",
    "CommonProgramW6432",
    "COMPUTERNAME",
    "ComSpec",
    "HOME",
    "HOMEDRIVE",
    "HOMEPATH",
    "LANG",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "ProgramData",
    "ProgramFiles",
    "ProgramFiles(x86)",
    "ProgramW6432",
    "SHELL",
    "SystemDrive",
    "SystemRoot",
    "TEMP",
    "TERM",
    "TMP",
    "TZ",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "windir",
];

/// The search path of a process without PATH.
pub const PATH: &str = r"C:\Windows\System32;C:\Windows";

/// Returns true if two names mean the same variable: case does not matter.
pub fn same_name(one: &[u8], other: &[u8]) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Returns the user of this process, in the form that the system's own tools expect.
pub fn user() -> String {
    let named = |name| std::env::var(name).unwrap_or_default();
    match named("USERDOMAIN") {
        domain if domain.is_empty() => named("USERNAME"),
        domain => format!(r"{domain}\{}", named("USERNAME")),
    }
}
