//! Terminals of an agent. Each is a run of its session: Tenure contains its tree, keeps its output, and ends it with the
//! session. A terminal's id is its run's id and the requested output limit, so no state is needed.

use super::host::AdapterHost;
use super::requests::{Operation, refused};
use crate::sessions::set_environment;
use std::path::Path;
use tenure_acp::conversation::AgentRequest;
use tenure_acp::host::Answer;
use tenure_acp::message::raw;
use tenure_acp::schema::{
    CreateTerminalRequest, CreateTerminalResponse, Error, KillTerminalResponse, ReleaseTerminalResponse,
    TerminalExitStatus, TerminalOutputResponse, WaitForTerminalExitResponse,
};
use tenure_core::api::ToolDetails;
use tenure_core::ending::Termination;
use tenure_core::ids::RunId;
use tenure_core::session::Backend;
use tenure_core::signal;
use tenure_core::spec::Argv;
use tenure_core::visible::{self, shell_line};
use tenure_os::text;
use tenure_output::{Piece, Reader, totals};
use tenure_policy::environment;
use tenure_policy::user_shell as shell;
use tenure_store::RunRow;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;
use tenure_supervisor::start_request::{StartRequest, set_variable};
use tenure_supervisor::sync::lock;

/// Maximum length of a terminal's output in an answer, in bytes.
const MAX_OUTPUT: u64 = 1 << 20;
/// Bytes to read at a time.
const CHUNK: usize = 64 << 10;

impl AdapterHost {
    pub(crate) async fn create_terminal(
        &self,
        asked: &AgentRequest,
        wanted: CreateTerminalRequest,
    ) -> Answer {
        let run = asked.consequence(self.run());
        let limit = wanted.output_byte_limit;
        // An earlier daemon may have started this run already.
        let known = self
            .agents
            .supervisor
            .registry
            .run(run.clone())
            .await
            .map_err(|error| refused(error.to_string()))?;
        if known.is_none() {
            let asked = self.terminal_request(run.clone(), wanted).map_err(error_of)?;
            let who = Requester::Operator { about: format!("the agent of session {}", self.key) };
            self.agents.supervisor.start(asked, who.to_string(), None).await.map_err(error_of)?;
        }
        let id = limit.map_or_else(|| run.to_string(), |limit| format!("{run}.{limit}"));
        Ok(raw(&CreateTerminalResponse::new(id)))
    }

    /// Describes a command for a permission question: its exact words, its directory and its variables.
    pub(crate) fn terminal_operation(&self, wanted: &CreateTerminalRequest) -> Result<Operation, Refusal> {
        environment::judge(wanted.env.iter().map(|it| (it.name.as_str(), it.value.as_str())))
            .map_err(Refusal::invalid)?;
        let line = shell_line(words(wanted).iter().map(String::as_str));
        let odd = visible::odd_control(&line).filter(|_| self.bounds.asks_person());
        if let Some(control) = odd {
            return Err(Refusal::invalid(format!(
                "the command holds the control character {}, and only newline and tab can be shown to a person: leave it \
                 out",
                visible::visible(&control.to_string())
            )));
        }
        let cwd = wanted.cwd.as_ref().unwrap_or(&self.bounds.root).display().to_string();
        let given = wanted.env.iter().map(|it| (it.name.clone(), it.value.clone()));
        let set = wanted.env.iter().map(|it| format!("{}={}", it.name, it.value));
        let full: Vec<String> = set.chain(words(wanted)).collect();
        let with_env = || format!("env {}", shell_line(full.iter().map(String::as_str)));
        let details = ToolDetails {
            kind: Some("execute".to_owned()),
            command: Some(if wanted.env.is_empty() { line.clone() } else { with_env() }),
            ..ToolDetails::default()
        };
        let title = format!("run {line}");
        Ok(Operation { title, details, cwd: Some(cwd), env: given.collect(), only_looks: false })
    }

    fn terminal_request(&self, run: RunId, wanted: CreateTerminalRequest) -> Result<StartRequest, Refusal> {
        let mut spec = self.agents.supervisor.inherited_spec();
        let (words, is_line) = (words(&wanted), is_line(&wanted));
        spec.cwd = text::bytes(wanted.cwd.unwrap_or_else(|| self.bounds.root.clone()));
        let caller = self.agents.caller_envs.of(&self.key);
        set_environment(&mut spec, &self.bounds.description.env, caller.as_deref())?;
        for variable in &wanted.env {
            set_variable(&mut spec.env, &variable.name, &variable.value)?;
            spec.options.env_names.push(variable.name.clone());
        }
        let command =
            Argv::new(words.into_iter().map(String::into_bytes).collect()).map_err(Refusal::invalid)?;
        spec.argv = if is_line { shell::replaced(command, &spec.cwd, &spec.env) } else { command };
        spec.options.label = Some("terminal".to_owned());
        StartRequest::of_session(&self.key, Backend::Acp, run, spec)
    }

    pub(crate) async fn terminal_output(&self, id: &str) -> Answer {
        let (row, limit) = self.terminal(id).await?;
        let dir = Path::new(&row.directory).join("output");
        let reading = tokio::task::spawn_blocking(move || last(&dir, limit));
        let (output, truncated) = reading.await.map_err(|error| refused(error.to_string()))?;
        let exit = row.ending.as_ref().map(|ending| status(&ending.termination));
        Ok(raw(&TerminalOutputResponse::new(output, truncated).exit_status(exit)))
    }

    pub(crate) async fn wait_for_exit(&self, id: &str) -> Answer {
        let (row, _) = self.terminal(id).await?;
        let ended = self.agents.supervisor.wait(&row.ticket.run_id, None).await.map_err(error_of)?;
        let status = ended.ending.map_or_else(TerminalExitStatus::new, |ending| status(&ending.termination));
        Ok(raw(&WaitForTerminalExitResponse::new(status)))
    }

    pub(crate) async fn kill_terminal(&self, id: &str) -> Answer {
        self.end_terminal(id).await?;
        Ok(raw(&KillTerminalResponse::new()))
    }

    /// Ends a terminal and forgets its id. Its output is kept for people.
    pub(crate) async fn release_terminal(&self, id: &str) -> Answer {
        self.end_terminal(id).await?;
        lock(&self.released).insert(id.to_owned());
        Ok(raw(&ReleaseTerminalResponse::new()))
    }

    async fn end_terminal(&self, id: &str) -> Result<(), Error> {
        let (row, _) = self.terminal(id).await?;
        let who = Requester::Operator { about: format!("the agent of session {}", self.key) };
        self.agents.supervisor.cancel_run(&row, false, &who).await.map_err(error_of)
    }

    /// Returns a terminal's run, if it belongs to this session, and the output limit.
    async fn terminal(&self, id: &str) -> Result<(RunRow, u64), Error> {
        let (run, limit) = id.split_once('.').map_or((id, None), |(run, limit)| (run, limit.parse().ok()));
        let unknown = || Error::resource_not_found(Some(id.to_owned()));
        if lock(&self.released).contains(id) {
            return Err(unknown());
        }
        let run: RunId = run.parse().map_err(|_| unknown())?;
        let row =
            self.agents.supervisor.registry.run(run).await.map_err(|error| refused(error.to_string()))?;
        let is_ours = |row: &RunRow| {
            row.ticket.options.session_id.as_deref() == Some(self.key.as_str())
                && row.ticket.run_id != *self.run()
        };
        let row = row.filter(is_ours).ok_or_else(unknown)?;
        Ok((row, limit.unwrap_or(MAX_OUTPUT).min(MAX_OUTPUT)))
    }
}

/// Returns the words to execute. Some agents send a shell line instead of a program and its arguments.
fn words(wanted: &CreateTerminalRequest) -> Vec<String> {
    if is_line(wanted) {
        return shell::of_system(wanted.command.clone());
    }
    std::iter::once(&wanted.command).chain(&wanted.args).cloned().collect()
}

fn is_line(wanted: &CreateTerminalRequest) -> bool {
    wanted.args.is_empty() && wanted.command.contains(char::is_whitespace)
}

/// Returns the end of a run's output, and true if something before it is missing.
fn last(dir: &Path, limit: u64) -> (String, bool) {
    let all = totals(dir).map_or(0, |totals| totals.bytes);
    let mut at = all.saturating_sub(limit);
    let mut truncated = at > 0;
    let (mut reader, mut buffer, mut bytes) = (Reader::new(dir), vec![0; CHUNK], Vec::new());
    while let Ok(piece) = reader.read(at, &mut buffer) {
        match piece {
            Piece::End { .. } => break,
            Piece::Bytes { len, .. } => bytes.extend_from_slice(&buffer[..len]),
            Piece::Gap { .. } | Piece::Lost { .. } => truncated = true,
        }
        at = piece.end();
    }
    // The bytes may begin in the middle of a UTF-8 character.
    let begin = bytes.iter().take(3).take_while(|byte| (**byte & 0xc0) == 0x80).count();
    (String::from_utf8_lossy(&bytes[begin..]).into_owned(), truncated)
}

fn status(termination: &Termination) -> TerminalExitStatus {
    let code = termination.exit_code.and_then(|code| u32::try_from(code).ok());
    TerminalExitStatus::new().exit_code(code).signal(termination.signal.map(signal::name))
}

fn error_of(refusal: Refusal) -> Error {
    refused(refusal.detail)
}
