//! The `tenure` command for the tests: the same library, built with the tests, so never stale.
use std::process::ExitCode;

fn main() -> ExitCode {
    tenure_cli::main()
}
