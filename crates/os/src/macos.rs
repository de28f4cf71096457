//! macOS: the system calls behind the facades. Nothing here decides anything.

mod service;

pub(crate) use service::*;

pub(crate) const CUSTOM: crate::place::Custom = crate::place::Custom::Library;
