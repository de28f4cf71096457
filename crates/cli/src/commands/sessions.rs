//! `tenure sessions`: what is done with sessions.

use super::sessions_import;
use crate::args::{SessionsArgs, SessionsVerb};
use crate::failure::Failure;

pub(crate) fn run(args: &SessionsArgs) -> Result<u8, Failure> {
    match &args.verb {
        SessionsVerb::Import(args) => sessions_import::run(args),
    }
}
