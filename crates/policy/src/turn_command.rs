//! A session's turn that is a command line: it runs by the same rules as one that its agent asks for.

use crate::Approvals;
use crate::authorize::Judged;
use crate::exec_spec;
use tenure_core::ids::RunId;
use tenure_core::session::SessionRow;
use tenure_core::tools::{ExecRequest, Notify};
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::start_request::StartRequest;

impl Approvals {
    /// The run that carries out a command line in a session.
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
            // Its end is the turn's.
            notify: Some(Notify::Never),
            session_key: Some(session.clone()),
            ..ExecRequest::default()
        };
        let who = Requester::client(session, "a turn".to_owned());
        let mut wanted = exec_spec::read(self, &request, None, &who)?;
        match self.judge_command(&mut wanted).await? {
            Judged::Run(line) => wanted.start_request(line, Some(run)),
            Judged::Ask(question) => Err(Refusal::denied(format!(
                "{}: a person is to be asked first, and a turn cannot ask; run it with `tenure exec`, or allow it with \
                 `tenure allowlist add`",
                question.why
            ))),
        }
    }
}
