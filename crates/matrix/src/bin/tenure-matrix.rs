//! The `tenure` command as the tests start it: the same library, built with the tests, so never stale.
use std::process::ExitCode;

fn main() -> ExitCode {
    tenure_cli::main()
}
