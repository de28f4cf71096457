//! Reads a JSON request from a file or standard input. The daemon validates it.

use crate::failure::Failure;
use serde_json::Value;
use std::io::Read;
use std::path::Path;

/// Reads a request; `-` is standard input.
pub(super) fn read(from: &Path) -> Result<Value, Failure> {
    let is_stdin = from.as_os_str() == "-";
    let name = if is_stdin { "standard input".to_owned() } else { from.display().to_string() };
    let failed = |error: &dyn std::fmt::Display| Failure::refused(format!("{name}: {error}"));
    let mut text = Vec::new();
    if is_stdin {
        std::io::stdin().lock().read_to_end(&mut text).map_err(|error| failed(&error))?;
    } else {
        text = std::fs::read(from).map_err(|error| failed(&error))?;
    }
    serde_json::from_slice(&text).map_err(|error| failed(&format!("invalid JSON: {error}")))
}
