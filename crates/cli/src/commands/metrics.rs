//! `tenure metrics`: print the metrics in the format of Prometheus.

use crate::args::MetricsArgs;
use crate::failure::Failure;
use crate::{print, reach, settings};

pub(crate) fn run(_: &MetricsArgs) -> Result<u8, Failure> {
    let client = reach::needed(&settings::load_to_look()?)?;
    print::line(reach::wait(client.metrics())?.trim_end())?;
    Ok(0)
}
