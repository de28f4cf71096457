//! Whether a command line runs, is asked about, or is refused, and as what it is executed. What the allowlist lets
//! through is not the line as it was written but what was understood of it: each program by its path, each word quoted.

use crate::Approvals;
use crate::allowlist::{Allowlist, Call, Caller, Entry};
use crate::exec_spec::Wanted;
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

/// Why a line is not taken apart where shells have another language.
const OPAQUE: &str = "what a line does cannot be told on this system, where it is not written for sh";

/// What is executed, and the files that must still be the same then.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    /// The words, the program first.
    pub words: Vec<String>,
    /// The programs that it was judged by.
    pub bound: Vec<Bound>,
    /// Whether these are all that it executes.
    #[serde(default)]
    pub understood: bool,
}

/// The check that a line's programs are the ones that it was judged by.
#[derive(Debug)]
pub(crate) struct ProgramsUnchanged(pub Vec<Bound>);

impl StartCheck for ProgramsUnchanged {
    fn check(&self) -> Result<(), String> {
        self.0.iter().try_for_each(Bound::check).map_err(|changed| changed.to_string())
    }
}

/// What becomes of a command.
pub enum Judged {
    /// It runs.
    Run(Line),
    /// A person is asked.
    Ask(Box<Question>),
}

/// What a person is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Question {
    /// Why.
    pub why: String,
    /// The programs that it executes; empty if that cannot be told.
    pub programs: Vec<PathBuf>,
    /// What is executed if it is allowed.
    pub line: Line,
    /// What lets it run without asking from then on, or why there is no such thing.
    pub always: Result<Vec<Entry>, String>,
}

/// A line whose commands are known.
struct Known {
    analysis: Analysis,
    programs: Vec<Executable>,
    /// The programs' files as they are when it is judged, or why that cannot be told.
    bound: Result<Vec<Bound>, String>,
}

impl Known {
    fn calls(&self) -> Vec<Call<'_>> {
        let bound = |at: usize| self.bound.as_ref().ok().and_then(|bound| bound.get(at));
        let segments = self.analysis.segments().iter().zip(&self.programs).enumerate();
        segments.map(|(at, (segment, program))| Call::of(segment, program, bound(at))).collect()
    }

    /// The same line with each program by its path.
    fn line(&self) -> Result<Line, String> {
        let paths: Vec<PathBuf> = self.programs.iter().map(|program| program.called.clone()).collect();
        let text = render(&self.analysis, &paths).map_err(|error| error.to_string())?;
        let bound = self.bound.clone()?;
        // What was judged is what was found, not what a link leads to by now.
        if let Some((program, _)) = self.programs.iter().zip(&bound).find(|(it, now)| it.real != now.real) {
            return Err(format!("{} has changed meanwhile; ask for it again", program.called.display()));
        }
        let sh = tenure_os::shell::posix().ok_or(OPAQUE)?;
        let words = vec![sh.to_owned(), "-c".to_owned(), text];
        Ok(Line { words, bound, understood: true })
    }
}

impl Approvals {
    /// Judges a command.
    pub async fn judge_command(&self, wanted: &mut Wanted) -> Result<Judged, Refusal> {
        let exec = self.supervisor.settings.exec;
        if !is_judged(&exec, wanted.ask) {
            return Ok(Judged::Run(raw(wanted)));
        }
        // A person or the allowlist reads the line, so it must not contain characters for a terminal only.
        if let Some(control) = visible::odd_control(&wanted.command) {
            return Err(Refusal::invalid(format!(
                "the command holds the control character {}, and only newline and tab can be judged or shown: leave it \
                 out, or have printf make it",
                visible::visible(&control.to_string())
            )));
        }
        block_in_place(|| wanted.follow_links());
        let wanted = &*wanted;
        let (numbers, allowlist) = self.allowlist().await?;
        // Programs are looked for, read and hashed.
        let known = block_in_place(|| understand(wanted));
        let cwd = &wanted.cwd();
        let caller = caller(wanted, cwd);
        let matched = known
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|known| allowlist.matches(caller, &known.calls()).map_err(|miss| miss.to_string()));
        let listed = match &matched {
            Ok(_) => Listed::Every,
            Err(why) => Listed::No { why: why.clone() },
        };
        match decide(exec.mode, exec.ask, wanted.ask, &listed) {
            Decision::Deny { why } => Err(Refusal::denied(why)),
            Decision::Run => {
                let used =
                    matched.unwrap_or_default().iter().filter_map(|&at| numbers.get(at).copied()).collect();
                self.supervisor.registry.used(used, tenure_os::clock::unix_ms()).await?;
                // It runs by the allowlist, so it is known.
                let known = known.map_err(Refusal::denied)?;
                Ok(Judged::Run(known.line().map_err(Refusal::denied)?))
            }
            Decision::Ask => {
                let why = matched.err().unwrap_or_else(|| "every command is asked about".to_owned());
                Ok(Judged::Ask(Box::new(block_in_place(|| question(wanted, known, why))?)))
            }
        }
    }

    /// The allowlist, and the numbers of its entries. One that cannot be used allows nothing.
    async fn allowlist(&self) -> Result<(Vec<u64>, Allowlist), Refusal> {
        let mut numbers = Vec::new();
        let mut entries: Vec<Entry> = Vec::new();
        for row in self.supervisor.registry.allowlist().await? {
            match serde_json::from_value::<Entry>(row.entry) {
                Ok(entry) if Allowlist::new(vec![entry.clone()]).is_ok() => {
                    numbers.push(row.id);
                    entries.push(entry);
                }
                _ => tracing::warn!(
                    entry = row.id,
                    "an entry of the allowlist is not understood, and allows nothing"
                ),
            }
        }
        Ok((numbers, Allowlist::new(entries).map_err(Refusal::internal)?))
    }
}

/// Returns true if a policy judges a call; otherwise every command runs.
pub(crate) fn is_judged(exec: &Exec, call: Option<Ask>) -> bool {
    exec.mode != Mode::Full || exec.ask.max(call.unwrap_or_default()) == Ask::Always
}

fn caller<'a>(wanted: &'a Wanted, cwd: &'a Path) -> Caller<'a> {
    Caller { agent: wanted.spec.options.session_id.as_deref().and_then(agent_of), cwd, env: &wanted.unlisted }
}

/// The line as it was written, for the user's shell.
fn raw(wanted: &Wanted) -> Line {
    Line { words: shell::words(&wanted.shell, &wanted.command), bound: Vec::new(), understood: false }
}

/// Takes a line apart and finds its programs, or says why that cannot be done.
fn understand(wanted: &Wanted) -> Result<Known, String> {
    if tenure_os::shell::posix().is_none() {
        return Err(OPAQUE.to_owned());
    }
    let analysis = analyse(&wanted.command).map_err(|error| error.to_string())?;
    let cwd = &wanted.cwd();
    let path = shell::variable(&wanted.spec.env, "PATH").unwrap_or_default();
    let find = |program: &str| resolve(program, cwd, OsStr::new(path)).map_err(|error| error.to_string());
    let programs = analysis.segments().iter().map(|segment| find(segment.program()));
    let programs = programs.collect::<Result<Vec<_>, _>>()?;
    let bound = programs.iter().map(Bound::of_executable).collect::<Result<_, _>>();
    Ok(Known { analysis, programs, bound: bound.map_err(|error| error.to_string()) })
}

fn question(wanted: &Wanted, known: Result<Known, String>, why: String) -> Result<Question, Refusal> {
    let known = match known {
        Ok(known) => known,
        Err(unknown) => {
            return Ok(Question {
                why,
                programs: Vec::new(),
                line: raw_bound(wanted)?,
                always: Err(unknown),
            });
        }
    };
    let cwd = &wanted.cwd();
    let entries = known.calls().into_iter().map(|call| Entry::allow_always(call, caller(wanted, cwd)));
    let always = entries.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string());
    let programs = known.programs.iter().map(|program| program.called.clone()).collect();
    Ok(Question { why, programs, line: known.line().map_err(Refusal::denied)?, always })
}

/// The line as it was written, and the shell that a person was told of.
fn raw_bound(wanted: &Wanted) -> Result<Line, Refusal> {
    let mut line = raw(wanted);
    if let Some(shell) = line.words.first() {
        line.bound.push(Bound::of(Path::new(shell)).map_err(Refusal::denied)?);
    }
    Ok(line)
}
