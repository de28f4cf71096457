//! Runs that a crate above starts and waits for.

use crate::refusal::Refusal;
use crate::start_request::StartRequest;
use crate::supervisor::Supervisor;
use std::pin::Pin;
use std::sync::Arc;
use tenure_store::RunRow;

/// The future of a run that ends with the run.
pub type RunToEnd<'a> = Pin<Box<dyn Future<Output = Result<RunRow, Refusal>> + Send + 'a>>;

/// Starts runs for a crate that needs nothing else of the supervisor.
pub trait StartRun: Send + Sync {
    /// Starts a run, gives it its stdin, and waits for its end.
    fn run_to_end<'a>(&'a self, request: StartRequest, asked_by: &'a str, stdin: &'a [u8]) -> RunToEnd<'a>;
}

impl StartRun for Arc<Supervisor> {
    fn run_to_end<'a>(&'a self, request: StartRequest, asked_by: &'a str, stdin: &'a [u8]) -> RunToEnd<'a> {
        Box::pin(async move {
            let held = self.start(request, asked_by.to_owned(), None).await?;
            let run = held.ticket.run_id.clone();
            // A command that does not read stdin is judged by its end.
            let _ = self.type_into(&self.row(&run).await?, stdin, Some(0), true).await;
            self.wait(&run, None).await
        })
    }
}
