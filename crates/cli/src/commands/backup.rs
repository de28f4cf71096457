//! `tenure backup`: copy the registry to a new file.

use crate::args::BackupArgs;
use crate::failure::Failure;
use crate::{daemon_client, settings};

pub(crate) fn run(args: &BackupArgs) -> Result<u8, Failure> {
    let client = daemon_client::require(&settings::load_leniently()?)?;
    let path = std::path::absolute(&args.file).map_err(Failure::refused)?;
    let text = path.to_str().ok_or_else(|| {
        Failure::refused(format!("the path \"{}\" is not valid UTF-8: use another one", path.display()))
    })?;
    daemon_client::call(client.backup(text.to_owned()))?;
    Ok(0)
}
