//! `tenure nursery`: the process that forks keepers. Started by Tenure itself.

use crate::args::NurseryArgs;
use crate::failure::Failure;

pub(crate) fn run(args: &NurseryArgs) -> Result<u8, Failure> {
    tenure_keeper::nursery::main(&args.id, &args.state).map_err(Failure::tenure_failed)?;
    Ok(0)
}
