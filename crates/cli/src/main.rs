//! The `tenure` command.
use std::process::ExitCode;

fn main() -> ExitCode {
    tenure_cli::main()
}
