//! Authorizes command lines: a line runs, needs an approval, or is refused. An allowed line is not executed as it was
//! written, but as it was parsed: each program by its path, each word quoted.

use crate::Approvals;
use crate::allowlist::{Allowlist, Call, Caller, Entry};
use crate::exec_spec::ExecSpec;
use crate::executable::{Bound, Executable, resolve};
use crate::shell::{Analysis, analyse, render};
use crate::user_shell as shell;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use tenure_core::policy::{Ask, Decision, Listed, Mode, decide};
use tenure_core::session::agent_of;
use tenure_core::visible;
use tenure_settings::Exec;
use tenure_supervisor::Refusal;
use tenure_supervisor::start_request::StartCheck;
use tokio::task::block_in_place;

/// Reason why lines are not parsed on systems without a POSIX shell.
const NO_POSIX_SHELL: &str =
    "command lines cannot be analysed on this system, because its shell is not a POSIX shell";

/// Words to execute, and the program files that must not change before that.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CommandLine {
    /// The words, the program first.
    pub words: Vec<String>,
    /// The programs for which it was authorized.
    pub bound: Vec<Bound>,
    /// True if the line executes no other programs.
    #[serde(default)]
    pub understood: bool,
}

/// Check right before the start that the programs have not changed.
#[derive(Debug)]
pub(crate) struct ProgramsUnchanged(pub Vec<Bound>);

impl StartCheck for ProgramsUnchanged {
    fn check(&self) -> Result<(), String> {
        self.0.iter().try_for_each(Bound::check).map_err(|changed| changed.to_string())
    }
}

/// Decision about a command.
pub enum Authorization {
    /// The command runs.
    Run(CommandLine),
    /// The command needs an approval.
    Ask(Box<Question>),
}

/// Question to the person who approves a command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Question {
    /// The reason for asking.
    pub why: String,
    /// The programs that the command executes; empty if they are unknown.
    pub programs: Vec<PathBuf>,
    /// The line to execute after the approval.
    pub line: CommandLine,
    /// Allowlist entries for "allow always", or the reason why there are none.
    pub always: Result<Vec<Entry>, String>,
}

/// A parsed line with its programs.
struct ParsedLine {
    analysis: Analysis,
    programs: Vec<Executable>,
    /// The identities of the programs' files, or the reason why they cannot be taken.
    bound: Result<Vec<Bound>, String>,
}

impl ParsedLine {
    fn calls(&self) -> Vec<Call<'_>> {
        let bound = |at: usize| self.bound.as_ref().ok().and_then(|bound| bound.get(at));
        let segments = self.analysis.segments().iter().zip(&self.programs).enumerate();
        segments.map(|(at, (segment, program))| Call::of(segment, program, bound(at))).collect()
    }

    /// Returns the line with each program by its path.
    fn line(&self) -> Result<CommandLine, String> {
        let paths: Vec<PathBuf> = self.programs.iter().map(|program| program.called.clone()).collect();
        let text = render(&self.analysis, &paths).map_err(|error| error.to_string())?;
        let bound = self.bound.clone()?;
        // The file that was found must be the one that its links lead to now.
        if let Some((program, _)) = self.programs.iter().zip(&bound).find(|(it, now)| it.real != now.real) {
            return Err(format!(
                "{} has changed meanwhile: exec the command again",
                program.called.display()
            ));
        }
        let sh = tenure_os::shell::posix().ok_or(NO_POSIX_SHELL)?;
        let words = vec![sh.to_owned(), "-c".to_owned(), text];
        Ok(CommandLine { words, bound, understood: true })
    }
}

impl Approvals {
    /// Authorizes a command.
    pub async fn authorize_command(&self, spec: &mut ExecSpec) -> Result<Authorization, Refusal> {
        let exec = self.supervisor.settings.exec;
        if !needs_authorization(&exec, spec.ask) {
            return Ok(Authorization::Run(raw(spec)));
        }
        // A person or the allowlist reads the line, so it must not contain control characters.
        if let Some(control) = visible::odd_control(&spec.command) {
            return Err(Refusal::invalid(format!(
                "the command contains the control character {}, which cannot be checked or shown: leave it out, or let \
                 printf produce it",
                visible::visible(&control.to_string())
            )));
        }
        block_in_place(|| spec.follow_links());
        let spec = &*spec;
        let (numbers, allowlist) = self.allowlist().await?;
        // Blocks, because programs are searched, read and hashed.
        let parsed = block_in_place(|| parse(spec));
        let cwd = &spec.cwd();
        let caller = caller(spec, cwd);
        let matched = parsed
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|parsed| allowlist.matches(caller, &parsed.calls()).map_err(|miss| miss.to_string()));
        let listed = match &matched {
            Ok(_) => Listed::Every,
            Err(why) => Listed::No { why: why.clone() },
        };
        match decide(exec.mode, exec.ask, spec.ask, &listed) {
            Decision::Deny { why } => Err(Refusal::denied(why)),
            Decision::Run => {
                let used =
                    matched.unwrap_or_default().iter().filter_map(|&at| numbers.get(at).copied()).collect();
                self.supervisor.registry.used(used, tenure_os::clock::unix_ms()).await?;
                // The allowlist matches only parsed lines.
                let parsed = parsed.map_err(Refusal::denied)?;
                Ok(Authorization::Run(parsed.line().map_err(Refusal::denied)?))
            }
            Decision::Ask => {
                let why = matched.err().unwrap_or_else(|| "every command needs an approval".to_owned());
                Ok(Authorization::Ask(Box::new(block_in_place(|| question(spec, parsed, why))?)))
            }
        }
    }

    /// Reads the allowlist and the numbers of its entries. Invalid entries are skipped.
    async fn allowlist(&self) -> Result<(Vec<u64>, Allowlist), Refusal> {
        let mut numbers = Vec::new();
        let mut entries: Vec<Entry> = Vec::new();
        for row in self.supervisor.registry.allowlist().await? {
            match serde_json::from_value::<Entry>(row.entry) {
                Ok(entry) if Allowlist::new(vec![entry.clone()]).is_ok() => {
                    numbers.push(row.id);
                    entries.push(entry);
                }
                _ => tracing::warn!(entry = row.id, "skipping an invalid allowlist entry"),
            }
        }
        Ok((numbers, Allowlist::new(entries).map_err(Refusal::internal)?))
    }
}

/// Returns true if a call needs authorization; otherwise every command runs.
pub(crate) fn needs_authorization(exec: &Exec, call: Option<Ask>) -> bool {
    exec.mode != Mode::Full || exec.ask.max(call.unwrap_or_default()) == Ask::Always
}

fn caller<'a>(spec: &'a ExecSpec, cwd: &'a Path) -> Caller<'a> {
    Caller { agent: spec.spec.options.session_id.as_deref().and_then(agent_of), cwd, env: &spec.unlisted }
}

/// Returns the line as it was written, for the user's shell.
fn raw(spec: &ExecSpec) -> CommandLine {
    CommandLine { words: shell::words(&spec.shell, &spec.command), bound: Vec::new(), understood: false }
}

/// Parses a line and finds its programs.
fn parse(spec: &ExecSpec) -> Result<ParsedLine, String> {
    if tenure_os::shell::posix().is_none() {
        return Err(NO_POSIX_SHELL.to_owned());
    }
    let analysis = analyse(&spec.command).map_err(|error| error.to_string())?;
    let cwd = &spec.cwd();
    let path = shell::variable(&spec.spec.env, "PATH").unwrap_or_default();
    let find = |program: &str| resolve(program, cwd, OsStr::new(path)).map_err(|error| error.to_string());
    let programs = analysis.segments().iter().map(|segment| find(segment.program()));
    let programs = programs.collect::<Result<Vec<_>, _>>()?;
    let bound = programs.iter().map(Bound::of_executable).collect::<Result<_, _>>();
    Ok(ParsedLine { analysis, programs, bound: bound.map_err(|error| error.to_string()) })
}

fn question(spec: &ExecSpec, parsed: Result<ParsedLine, String>, why: String) -> Result<Question, Refusal> {
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(why_not) => {
            return Ok(Question { why, programs: Vec::new(), line: raw_bound(spec)?, always: Err(why_not) });
        }
    };
    let cwd = &spec.cwd();
    let entries = parsed.calls().into_iter().map(|call| Entry::allow_always(call, caller(spec, cwd)));
    let always = entries.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string());
    let programs = parsed.programs.iter().map(|program| program.called.clone()).collect();
    Ok(Question { why, programs, line: parsed.line().map_err(Refusal::denied)?, always })
}

/// Returns the line as it was written, with the identity of its shell.
fn raw_bound(spec: &ExecSpec) -> Result<CommandLine, Refusal> {
    let mut line = raw(spec);
    if let Some(shell) = line.words.first() {
        line.bound.push(Bound::of(Path::new(shell)).map_err(Refusal::denied)?);
    }
    Ok(line)
}
