//! Which page of what happened.

use clap::Args;
use tenure_core::tools::sessions::SessionsRequest;

#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// Go on where the page before ended, as it said.
    #[arg(long, value_name = "N")]
    after: Option<String>,
    /// At most so many.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// At most about so much text, as in 64KiB.
    #[arg(long, value_name = "SIZE", value_parser = tenure_settings::size)]
    max_bytes: Option<u64>,
    /// The newest first.
    #[arg(long)]
    newest_first: bool,
}

impl PageArgs {
    /// The request for this page of it.
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
