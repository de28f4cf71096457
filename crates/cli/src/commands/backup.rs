//! `tenure backup`: a copy of the registry.

use crate::args::BackupArgs;
use crate::failure::Failure;
use crate::{reach, settings};

pub(crate) fn run(args: &BackupArgs) -> Result<u8, Failure> {
    let client = reach::needed(&settings::load_to_look()?)?;
    let path = std::path::absolute(&args.file).map_err(Failure::refused)?;
    let text = path.to_str().ok_or_else(|| Failure::refused("the file's path is not UTF-8"))?;
    reach::wait(client.backup(text.to_owned()))?;
    Ok(0)
}
