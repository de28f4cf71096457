//! Sessions that others recorded.

use crate::{Client, Failed};
use hyper::Method;
use tenure_core::api::{ImportReport, ImportRequest};

impl Client {
    /// Takes in the sessions whose records lie in a directory; answers what became of each.
    pub async fn import(&self, request: &ImportRequest) -> Result<ImportReport, Failed> {
        self.call(Method::POST, "/v1/sessions/import", request).await
    }
}
