//! macOS: the system calls behind the facades. Nothing here decides anything.
