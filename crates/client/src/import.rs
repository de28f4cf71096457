//! Import of sessions that other programs recorded.

use crate::{CallError, Client};
use hyper::Method;
use tenure_core::api::{ImportReport, ImportRequest};

impl Client {
    /// Imports the sessions whose records are in a directory. Returns the outcome of each.
    pub async fn import(&self, request: &ImportRequest) -> Result<ImportReport, CallError> {
        self.call(Method::POST, "/v1/sessions/import", request).await
    }
}
