//! Turns that are command lines. The rules are the same as for `exec`.

use crate::Approvals;
use crate::authorize::Authorization;
use crate::exec_spec;
use tenure_core::ids::RunId;
use tenure_core::session::SessionRow;
use tenure_core::tools::{ExecRequest, Notify};
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::start_request::StartRequest;

impl Approvals {
    /// Returns the request to start a turn's command line.
    pub async fn command_of_turn(
        &self,
        row: &SessionRow,
        command: &str,
        run: RunId,
    ) -> Result<StartRequest, Refusal> {
        let session = row.key.to_string();
        let request = ExecRequest {
            command: command.to_owned(),
            workdir: row.work.cwd.clone(),
            timeout_seconds: row.work.timeout_ms.map(|ms| std::time::Duration::from_millis(ms).as_secs_f64()),
            // The end of the turn is notified instead.
            notify: Some(Notify::Never),
            session_key: Some(session.clone()),
            ..ExecRequest::default()
        };
        let who = Requester::client(session, "a turn".to_owned());
        let mut spec = exec_spec::read(self, &request, None, &who)?;
        match self.authorize_command(&mut spec).await? {
            Authorization::Run(line) => spec.start_request(line, Some(run)),
            Authorization::Ask(question) => Err(Refusal::denied(format!(
                "{}: the command needs an approval, which a turn cannot request: run it with `tenure exec`, or allow it with \
                 `tenure allowlist add`",
                question.why
            ))),
        }
    }
}
