//! Samples for the scripted history: tickets, notes, endings, sessions, turns and tasks. Ids and pids are derived from
//! small numbers.

use super::served::{BEGAN, own_instance};
use serde_json::{Value, json};
use tenure_core::ending::{Cause, Exit, ProcessNote, Termination};
use tenure_core::ids::{InstanceId, RunId, TaskId, TurnId};
use tenure_core::journal::{JournalEntry, JournalEvent, Proof, Target};
use tenure_core::output::Totals;
use tenure_core::record::{Boundary, Ending, KeeperNote, Ticket};
use tenure_core::session::{Backend, Kind, Mode, SessionKey, SpawnLimits, SpawnRequest, Work};
use tenure_core::signal::Signal;
use tenure_core::task::NotifyPolicy;
use tenure_store::{Hold, NewRun, NewSession, NewTask, NewTurn};

pub(super) const SECOND: u64 = 1_000;
pub(super) const MINUTE: u64 = 60_000;

/// Id of a run, from its number in the history.
pub(super) fn run_id(number: u8) -> RunId {
    RunId::from_random([0xa1, number, 0x5e, 0x02, 0x7c, 0x44, 0x19, 0xd0, 0x3b, 0x68, 0xf2, 0x07])
}

pub(super) fn turn_id(number: u8) -> TurnId {
    TurnId::from_random([0xb2, number, 0x91, 0x3d, 0x08, 0xe6, 0x55, 0x2f, 0xc4, 0x70, 0x1a, 0x8b])
}

pub(super) fn task_id(number: u8) -> TaskId {
    TaskId::from_random([0xc3, number, 0x2e, 0x6a, 0xf0, 0x13, 0x88, 0x47, 0xd9, 0x05, 0xbb, 0x31])
}

/// Id of another installation.
pub(super) fn other_instance() -> InstanceId {
    InstanceId::from_random([0x22; 12])
}

pub(super) fn key(text: &str) -> SessionKey {
    text.parse().unwrap()
}

pub(super) fn hold() -> Hold {
    Hold { instance: own_instance(), epoch: 1 }
}

/// Ticket of a run that was requested `number` minutes after the beginning.
pub(super) fn ticket(number: u8, command: &str, more: &Value) -> Ticket {
    let mut ticket = json!({
        "runId": run_id(number), "leaseId": run_id(number), "leaseEpoch": 1, "ownerInstanceId": own_instance(),
        "backendId": "run", "sessionId": null, "scope": null, "label": null,
        "command": command.split(' ').collect::<Vec<_>>(), "commandHash": "0123456789abcdef",
        "cwd": "/home/ada/parser", "envNames": [], "ptySize": null, "stdin": true,
        "limits": {"timeoutMs": null, "noOutputTimeoutMs": null, "activity": "output", "graceMs": 5000, "giveUpMs": 10_000,
            "orphanGraceMs": 60_000},
        "onEscape": "fail", "orphan": "terminate", "keep": {"head": 1_048_576, "tail": 268_435_456},
        "createdAtMs": BEGAN + u64::from(number) * MINUTE,
    });
    ticket.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(ticket).unwrap()
}

/// Ticket of an agent's command line.
pub(super) fn exec_ticket(number: u8, session: &str, line: &str) -> Ticket {
    let more = json!({"backendId": "exec", "sessionId": session, "command": ["/bin/sh", "-c", line]});
    ticket(number, "", &more)
}

pub(super) fn new_run(ticket: Ticket) -> NewRun {
    let directory = format!("/elsewhere/runs/{}", ticket.run_id);
    NewRun {
        ticket,
        directory,
        asked_by: "uid 1000".to_owned(),
        exec: None,
        session_parent: None,
        is_started: false,
        task: None,
    }
}

/// Task with a notification policy. A success without output is notified too.
pub(super) fn new_task(number: u8, policy: NotifyPolicy, label: Option<&str>) -> NewTask {
    let label = label.map(str::to_owned);
    NewTask { id: task_id(number), policy, tells_quiet_success: true, owner: None, origin: None, label }
}

/// Keeper's note. The pids are derived from the run's number.
pub(super) fn note(number: u8, boundary: &Boundary, exe: &str) -> KeeperNote {
    let pid = 4_000 + i32::from(number) * 10;
    let process = |pid: i32| json!({"machineId": "a-machine", "bootId": "a-boot", "pidNamespace": 4_026_531_836_u64, "pid": pid, "startTime": 70_000 + pid});
    let note = json!({
        "keeper": process(pid), "nurseryId": "0d".repeat(12), "root": process(pid + 1), "boundary": boundary,
        "startedAtMs": BEGAN + u64::from(number) * MINUTE + 12, "exe": exe,
    });
    serde_json::from_value(note).unwrap()
}

pub(super) fn process(pid: i32, exe: &str) -> ProcessNote {
    ProcessNote { pid, exe: Some(exe.to_owned()) }
}

/// Ending of a run, `after` seconds after its request.
pub(super) fn ending(number: u8, termination: Termination, after: u64, bytes: u64) -> Ending {
    let ended_at_ms = BEGAN + u64::from(number) * MINUTE + after * SECOND;
    Ending {
        last_output_at_ms: (bytes > 0).then_some(ended_at_ms - 300),
        output: Totals { bytes, dropped_bytes: 0 },
        ..Ending::unseen(run_id(number), termination, ended_at_ms)
    }
}

pub(super) fn new_session(text: &str, backend: Backend, after: u64) -> NewSession {
    let request = SpawnRequest {
        key: key(text),
        agent: None,
        kind: if backend == Backend::Exec { Kind::Exec } else { Kind::Cli },
        mode: Mode::Persistent,
        backend,
        by: None,
        instance: own_instance(),
        origin: None,
        interaction: None,
        sandboxed: false,
        work: Work::default(),
        now_ms: BEGAN + after,
    };
    NewSession { request, parent: None, limits: SpawnLimits::default(), label: None }
}

pub(super) fn new_turn(number: u8, session: &str, message: &str, sent_at_ms: u64) -> NewTurn {
    let (id, asked_by) = (turn_id(number), "session agent:coder:main (uid 1000)".to_owned());
    NewTurn { id, session: key(session), message: message.to_owned(), asked_by, sent_at_ms }
}

/// Journal with one entry of every kind.
pub(super) fn journal() -> Vec<JournalEntry> {
    let boundary = Boundary::Cgroup { path: "/sys/fs/cgroup/tenure/a10e".into() };
    let processes = || vec![process(4_150, "/usr/bin/setsid"), ProcessNote { pid: 4_151, exe: None }];
    let group = Target::Group { pgid: 4_141 };
    let one = Target::Process { pid: 4_150, start_time: 74_150 };
    let signalled = |signal, target, proof| JournalEvent::Signalled { signal, target, proof };
    let whats = vec![
        JournalEvent::Started { pid: 4_141, exe: Some("/srv/crawl".into()), boundary },
        JournalEvent::FirstOutput,
        JournalEvent::HolderLost,
        JournalEvent::HolderAsked { epoch: 2 },
        JournalEvent::HolderRefused { epoch: 2 },
        JournalEvent::EpochRefused { epoch: 1, current: 2 },
        JournalEvent::HolderBack { epoch: 2 },
        JournalEvent::HolderReleased,
        JournalEvent::Exiting {
            cause: Some(Cause::OverallTimeout),
            exit: None,
            detail: Some("600 s".into()),
        },
        JournalEvent::Exiting { cause: None, exit: Some(Exit::Code(3)), detail: None },
        JournalEvent::Exiting { cause: None, exit: Some(Exit::Signal(11)), detail: None },
        signalled(Signal::TERM, group.clone(), Proof::UnreapedRoot),
        JournalEvent::Leftovers { count: 3, processes: processes() },
        JournalEvent::Escapees { processes: processes() },
        signalled(
            Signal::KILL,
            Target::Cgroup { path: "/sys/fs/cgroup/tenure/a10e".into() },
            Proof::RunCgroup,
        ),
        signalled(Signal::KILL, one.clone(), Proof::Child),
        signalled(Signal::KILL, one.clone(), Proof::Adopted),
        signalled(Signal::KILL, one.clone(), Proof::InSession),
        signalled(Signal::KILL, one.clone(), Proof::InCgroup),
        signalled(Signal::KILL, one, Proof::LeaseMark),
        JournalEvent::GivenUp,
        JournalEvent::Survivors { processes: vec![process(4_149, "/usr/bin/mount.nfs")] },
        JournalEvent::MoreNotWritten,
    ];
    let at = |number: usize| BEGAN + 14 * MINUTE + 20 + number as u64 * 26 * SECOND;
    whats.into_iter().enumerate().map(|(number, what)| JournalEntry { at_ms: at(number), what }).collect()
}
