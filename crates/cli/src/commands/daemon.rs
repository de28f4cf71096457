//! `tenure daemon`: the daemon's own life. One file a verb.

mod install;

use crate::args::{DaemonArgs, DaemonVerb};
use crate::failure::Failure;

pub(crate) fn run(args: &DaemonArgs) -> Result<u8, Failure> {
    match &args.verb {
        DaemonVerb::Install(args) => install::run(args),
    }
}
