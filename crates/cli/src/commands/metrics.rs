//! `tenure metrics`: print the metrics in the Prometheus format.

use crate::args::MetricsArgs;
use crate::failure::Failure;
use crate::{daemon_client, print, settings};

pub(crate) fn run(_: &MetricsArgs) -> Result<u8, Failure> {
    let client = daemon_client::require(&settings::load_leniently()?)?;
    print::line(daemon_client::call(client.metrics())?.trim_end())?;
    Ok(0)
}
