//! The flags that select a page of a history.

use super::values::number;
use clap::Args;
use tenure_core::tools::sessions::SessionsRequest;

#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// Continue after the previous page, with the value that it printed.
    #[arg(long, value_name = "N")]
    after: Option<String>,
    /// Show at most N entries.
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    limit: Option<u64>,
    /// Show at most about this much text, as in 64KiB.
    #[arg(long, value_name = "SIZE", value_parser = tenure_settings::size)]
    max_bytes: Option<u64>,
    /// Show the newest entries first.
    #[arg(long)]
    newest_first: bool,
}

impl PageArgs {
    /// Returns the request for this page.
    pub(crate) fn of(&self, request: SessionsRequest) -> SessionsRequest {
        SessionsRequest {
            after: self.after.clone(),
            limit: self.limit,
            max_bytes: self.max_bytes,
            newest_first: self.newest_first.then_some(true),
            ..request
        }
    }
}
