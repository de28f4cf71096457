//! `tenure keeper`: what holds a run, where keepers are not forked. Started by a nursery.

use crate::args::KeeperArgs;
use crate::failure::Failure;

pub(crate) fn run(args: &KeeperArgs) -> Result<u8, Failure> {
    tenure_keeper::keeper_main(&args.nursery).map_err(Failure::ours)
}
