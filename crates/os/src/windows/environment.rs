//! The variables that a process is given.

/// Those that programs count on, wherever they are started from.
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

/// Where programs are looked for by whoever has no PATH.
pub const PATH: &str = r"C:\Windows\System32;C:\Windows";

/// Whether two names mean the same variable: they have no case.
pub fn same_name(one: &[u8], other: &[u8]) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// The user that this process acts as, as the system's own tools want to be told.
pub fn user() -> String {
    let named = |name| std::env::var(name).unwrap_or_default();
    match named("USERDOMAIN") {
        domain if domain.is_empty() => named("USERNAME"),
        domain => format!(r"{domain}\{}", named("USERNAME")),
    }
}
