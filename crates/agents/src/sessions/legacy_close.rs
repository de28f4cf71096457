//! Ends the process of an imported session when the session is closed, but only if it is proven to be the recorded one. An
//! unverified process is left alone and named. Both are recorded as events of the session.

use crate::Agents;
use serde_json::json;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ending::ProcessNote;
use tenure_core::identity::{Evidence, Identity};
use tenure_core::session::SessionKey;
use tenure_core::session::legacy::{LegacyClaim, LegacyProcess, Live, ObservedRoot, judge};
use tenure_core::signal::Signal;
use tenure_core::tools::sessions::ClosedProcess;
use tenure_keeper::nursery;
use tenure_os::process::Process;
use tenure_os::tree::{self, Member};
use tenure_os::{clock, poll, process};
use tenure_store::NewEvent;
use tenure_supervisor::Refusal;

/// Interval of checks whether the signalled processes are gone.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Ends the process that an imported session left running, if there is one.
pub(crate) async fn end_legacy(
    agents: &Arc<Agents>,
    key: &SessionKey,
) -> Result<Option<ClosedProcess>, Refusal> {
    let session = agents.supervisor.registry.session(key.clone()).await?;
    let claim =
        session.filter(|it| it.row.instance == agents.supervisor.instance).and_then(|it| it.row.legacy);
    let Some(claim) = claim else { return Ok(None) };
    let (of, state) = (key.clone(), agents.supervisor.state.path().to_owned());
    let found = tokio::task::spawn_blocking(move || verify(of, &claim, &state));
    let (closed, root) = found.await.map_err(Refusal::internal)?;
    // Recorded before anything is signalled.
    let detail = json!({ "pid": closed.pid, "process": closed.process, "proof": closed.why });
    record_legacy_event(agents, "session-process-found", key, detail).await?;
    let Some(root) = root else { return Ok(Some(closed)) };
    let grace = agents.supervisor.settings.run.grace;
    let ending = tokio::task::spawn_blocking(move || end_tree(&root, grace));
    let (ended, survivors) = match ending.await.map_err(Refusal::internal)? {
        Ok(done) => done,
        Err(error) => {
            let why = format!("{}; its process tree cannot be read any more: {error}", closed.why);
            return Ok(Some(ClosedProcess { process: LegacyProcess::Unverified, why, ..closed }));
        }
    };
    let detail = json!({ "pid": closed.pid, "ended": &ended, "survivors": &survivors });
    record_legacy_event(agents, "session-process-ended", key, detail).await?;
    Ok(Some(ClosedProcess { ended, survivors, ..closed }))
}

async fn record_legacy_event(
    agents: &Agents,
    kind: &str,
    key: &SessionKey,
    detail: serde_json::Value,
) -> Result<(), Refusal> {
    let event = NewEvent {
        at_ms: clock::unix_ms(),
        kind: kind.to_owned(),
        instance: agents.supervisor.instance.clone(),
        run_id: None,
        session: Some(key.to_string()),
        detail,
    };
    agents.supervisor.registry.tell(event).await?;
    agents.supervisor.events.notify_followers();
    Ok(())
}

/// Judges the process as it is now; returns its identity if it may be ended.
fn verify(key: SessionKey, claim: &LegacyClaim, state: &Path) -> (ClosedProcess, Option<Identity>) {
    let LegacyClaim { root, wrapper_root } = claim;
    let seen = look(root.pid);
    let finding = judge(Some(root), &seen, wrapper_root.as_deref());
    let told = |process, why| ClosedProcess {
        key,
        pid: root.pid,
        process,
        why,
        ended: Vec::new(),
        survivors: Vec::new(),
    };
    let (ObservedRoot::Alive(live), LegacyProcess::Verified) = (&seen, finding.process) else {
        return (told(finding.process, finding.why), None);
    };
    if let Some(why) = reason_to_spare(root.pid, state) {
        return (told(LegacyProcess::Unverified, format!("pid {} is left alone: {why}", root.pid)), None);
    }
    let why = format!("pid {} is the recorded process, because {}", root.pid, finding.proof);
    (told(LegacyProcess::Verified, why), Some(live.held.identity().clone()))
}

/// Returns the reason to spare a verified process: it is above this daemon, or belongs to a run.
fn reason_to_spare(pid: i32, state: &Path) -> Option<&'static str> {
    let own = std::process::id().cast_signed();
    if process::ancestors(own).contains(&pid) {
        return Some("this daemon descends from it");
    }
    let above = process::ancestors(pid);
    let of_run = |&pid: &i32| pid == own || nursery::is_of(state, pid);
    above.iter().any(of_run).then_some("it belongs to a run, which ends with its session")
}

/// Ends a verified process and its descendants with living parents: SIGTERM, the grace, then SIGKILL until none is left
/// or the time limit is over. A process that was found once stays in the tree, even if its parent is gone.
fn end_tree(root: &Identity, grace: Duration) -> io::Result<(Vec<ProcessNote>, Vec<ProcessNote>)> {
    let mut tree = HeldTree::default();
    tree.extend(root)?;
    tree.signal(&[Signal::TERM, Signal::CONT]);
    let kill_at = clock::awake() + grace;
    let give_up = kill_at + defaults::GIVE_UP;
    loop {
        tree.refresh()?;
        if tree.alive.is_empty() || clock::awake() >= give_up {
            let survivors = tree.alive.values().map(Member::note).collect();
            return Ok((tree.ended.into_values().collect(), survivors));
        }
        if clock::awake() >= kill_at {
            tree.signal(&[Signal::KILL]);
        }
        poll::wait(&[], Some(CHECK_INTERVAL))?;
    }
}

/// The processes of a tree, in the order in which they were found: children after their parents.
#[derive(Default)]
struct HeldTree {
    alive: BTreeMap<(usize, i32), Member>,
    ended: BTreeMap<i32, ProcessNote>,
    found: usize,
}

impl HeldTree {
    /// Adds a process and all processes below it. Returns false if it is not alive.
    fn extend(&mut self, of: &Identity) -> io::Result<bool> {
        let Some(members) = tree::below(of)? else { return Ok(false) };
        for member in members {
            if self.alive.values().all(|known| known.identity() != member.identity()) {
                self.ended.entry(member.pid()).or_insert_with(|| member.note());
                self.alive.insert((self.found, member.pid()), member);
                self.found += 1;
            }
        }
        Ok(true)
    }

    /// Removes the processes that are gone, and adds those that the others have started since.
    fn refresh(&mut self) -> io::Result<()> {
        let known: Vec<((usize, i32), Identity)> =
            self.alive.iter().map(|(place, member)| (*place, member.identity().clone())).collect();
        for (place, identity) in known {
            let before = self.found;
            if !self.extend(&identity)? {
                self.alive.remove(&place);
            } else if self.found > before {
                // A process that started after the first signal gets it too.
                for (_, member) in self.alive.range((before, i32::MIN)..) {
                    member.signal(Signal::TERM);
                }
            }
        }
        Ok(())
    }

    /// Signals all processes, children first.
    fn signal(&self, signals: &[Signal]) {
        for member in self.alive.values().rev() {
            for signal in signals {
                member.signal(*signal);
            }
        }
    }
}

/// Returns the process that has this pid now.
pub fn look(pid: i32) -> ObservedRoot {
    let process = match Process::open(pid) {
        Ok(Some(process)) => process,
        Ok(None) => return ObservedRoot::Gone,
        Err(error) => return ObservedRoot::Unreadable(error.to_string()),
    };
    let (command, exe) = (process.words().map_err(|error| error.to_string()), process.exe());
    if !process.is_alive() {
        // A zombie: it has exited, and its parent has not reaped it.
        return ObservedRoot::Gone;
    }
    match process.judge(process.identity()) {
        Evidence::Same(held) => {
            ObservedRoot::Alive(Live { held, started_at_ms: process.started_at_ms(), exe, command })
        }
        Evidence::Other | Evidence::Gone => ObservedRoot::Gone,
        Evidence::Unreadable(why) => ObservedRoot::Unreadable(why),
    }
}
