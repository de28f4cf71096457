//! `tenure keeper`: a run's keeper, on systems where the nursery cannot fork it. Started by a nursery.

use crate::args::KeeperArgs;
use crate::failure::Failure;

pub(crate) fn run(args: &KeeperArgs) -> Result<u8, Failure> {
    tenure_keeper::keeper_main(&args.nursery).map_err(Failure::tenure_failed)
}
