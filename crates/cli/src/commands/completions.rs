//! `tenure completions`: print a completion script for a shell.

use crate::args::{self, CompletionsArgs};
use crate::failure::Failure;
use std::io::Write;

pub(crate) fn run(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::definition(), "tenure", &mut script);
    std::io::stdout().lock().write_all(&script).map_err(Failure::refused)?;
    Ok(0)
}
