//! The start of a keeper, in the required order: lock, ticket, fork, note, gate. Everything that the command does not
//! need before it executes is made while it does.

use super::accept::listen;
use super::peers::Peer;
use super::stdout::OutputCopier;
use super::{Keeper, RootState};
use crate::frames::Frames;
use crate::journal::Journal;
use crate::launch::lease_mark;
use crate::rundir::RunDir;
use std::io;
use std::path::Path;
use std::time::Duration;
use tenure_core::ending::{NO_PTY, SpawnError};
use tenure_core::ids::NurseryId;
use tenure_core::record::{self, Boundary, Ending, KeeperNote, Ticket};
use tenure_core::watch::Watch;
use tenure_core::wire::{self, KeeperMessage, Launch, Role};
use tenure_os::enclosure::{self, Enclosure};
use tenure_os::fork::{self, SingleThread};
use tenure_os::lock::Lock;
use tenure_os::signals::{self, Signals};
use tenure_os::socket::Conn;
use tenure_os::spawn::{self, Gated, NoRoot, Plan};
use tenure_os::stdio::{PassedInput, Stdio};
use tenure_os::{clock, pause, process, program, reaper};
use tenure_output::Writer;

/// Time limit for a caller to read that there will be no run.
const REFUSAL_LIMIT: Duration = Duration::from_secs(1);
/// Time limit for a caller to pass its standard input. It does so at once, so this is for one that was stopped.
const STDIN_LIMIT: Duration = Duration::from_secs(30);

/// Makes a keeper whose root executes; `None` if that failed, and then the callers know why. Never inlined: its stack
/// space must not stay with the keeper for its whole life.
#[inline(never)]
pub(super) fn start(
    alone: &SingleThread,
    nursery: &NurseryId,
    launch: &Launch,
    body: Vec<u8>,
    conns: Vec<Conn>,
) -> io::Result<Option<Box<Keeper>>> {
    pause::point("keeper-begun");
    let mut first: Vec<Frames> = conns.into_iter().map(Frames::new).collect();
    reaper::become_subreaper()?;
    signals::ignore(&signals::FROM_THE_RUN)?;
    let mut taken = signals::LEAVE.to_vec();
    taken.retain(|signal| !signals::FROM_THE_RUN.contains(signal));
    taken.push(signals::CHILD);
    let signals = Signals::take(&taken)?;
    let dir = RunDir::open(Path::new(&launch.directory))?;
    let Some(lock) = dir.lock()? else {
        refuse(&mut first, format!("run {} already has a keeper", dir.id()));
        return Ok(None);
    };
    pause::point("keeper-locked");
    let ticket = match dir.ticket() {
        Ok(ticket) => ticket,
        Err(error) => {
            refuse(&mut first, error.to_string());
            return Ok(None);
        }
    };
    if matches!(dir.ending(), Ok(Some(_))) {
        refuse(&mut first, format!("run {} has ended", dir.id()));
        return Ok(None);
    }
    let gated = passed_stdin(launch, &mut first)
        .map_err(NoRoot::from)
        .and_then(|input| fork_root(alone, nursery, (launch, body), input, (&ticket, &lock)));
    let gated = match gated {
        Ok(gated) => gated,
        Err(why) => {
            let (error, code) = match why {
                NoRoot::Command(error) => (error, None),
                // The command is not at fault: it was not even looked up.
                NoRoot::System(error) => {
                    (SpawnError { detail: error.to_string(), not_found: false }, Some(125))
                }
            };
            let mut ending = Ending::not_started(dir.id().clone(), &error, clock::unix_ms());
            ending.termination.exit_code = code.or(ending.termination.exit_code);
            dir.write_ending(&ending, None)?;
            send_all(
                &mut first,
                &[KeeperMessage::NotStarted { error }, KeeperMessage::Ended { ending: Box::new(ending) }],
            );
            return Ok(None);
        }
    };
    // The root has its own ends. A terminal that we still held open would not hang up when the root closes it.
    let ours = gated.stdio.into_ours();
    // The command may check at once that a keeper is its parent.
    program::set_name(c"tenure-keeper");
    let (root, report) = gated.root.release()?;
    pause::point("keeper-released");
    // A new session costs a scheduler turn on a busy machine, so the command does not wait for it.
    fork::new_session()?;
    let (output, stdin) =
        OutputCopier::connect(ours, Writer::create(&dir.stable_output_path(), ticket.options.keep))?;
    let mut keeper = Box::new(Keeper {
        watch: Watch::new(ticket.options.clone()),
        note: gated.note,
        epoch: ticket.lease_epoch,
        _lock: lock,
        session: root.pid(),
        root: RootState::Alive(root),
        enclosure: gated.enclosure,
        mark: lease_mark(&ticket.lease_id).into(),
        start: Some((gated.plan, report)),
        output,
        stdin,
        peers: first
            .into_iter()
            .zip(&launch.roles)
            .map(|(one, &role)| Peer::first(one, role).of(&ticket.owner_instance_id))
            .collect(),
        listener: listen(&dir),
        accept_again_at: None,
        check_directory_at: None,
        signals,
        stop_rounds: None,
        seen_members: Vec::new(),
        journal: Journal::default(),
        ending_space: dir.reserve_ending().ok(),
        may_have_unlisted: false,
        draining: None,
        unrecorded: false,
        dir,
        ticket,
    });
    launch.roles.iter().for_each(|&role| keeper.owner_connected(role));
    Ok(Some(keeper))
}

/// Tells the callers that there will be no run, and why.
fn refuse(first: &mut [Frames], why: String) {
    send_all(first, &[KeeperMessage::Refused { why }]);
}

/// Sends the last messages of a keeper without a run.
fn send_all(first: &mut [Frames], messages: &[KeeperMessage]) {
    for one in first {
        messages.iter().for_each(|message| one.send(message, &[]));
        // A caller that does not read is gone, or will see the connection end.
        let _ = one.send_all(REFUSAL_LIMIT);
    }
}

/// A root that is recorded in the note and waits at its gate.
struct GatedRoot {
    plan: Plan,
    root: Gated,
    enclosure: Option<Enclosure>,
    note: KeeperNote,
    stdio: Stdio,
}

/// Waits for the caller's standard input, if the command reads that.
fn passed_stdin(launch: &Launch, first: &mut [Frames]) -> io::Result<Option<PassedInput>> {
    if !launch.passes_stdin {
        return Ok(None);
    }
    let caller = launch.roles.iter().zip(first).find(|(role, _)| matches!(role, Role::Caller));
    let (_, caller) = caller.ok_or_else(|| io::Error::other("no caller can pass its standard input"))?;
    caller
        .take_stdin(STDIN_LIMIT)
        .map(Some)
        .map_err(|error| io::Error::other(format!("the caller did not pass its standard input: {error}")))
}

/// Forks the root and writes the note. The lock makes this keeper the run's only one.
fn fork_root(
    alone: &SingleThread,
    nursery: &NurseryId,
    (launch, body): (&Launch, Vec<u8>),
    input: Option<PassedInput>,
    (ticket, lock): (&Ticket, &Lock),
) -> Result<GatedRoot, NoRoot> {
    let malformed = || io::Error::new(io::ErrorKind::InvalidData, "the launch message is malformed");
    let words = wire::unpack(&body, launch.argc).filter(|(_, argv, _)| !argv.is_empty());
    let (cwd, argv, env) = words.ok_or_else(malformed)?;
    drop(body); // an idle keeper holds no environment
    let plan = Plan::new(argv, env, cwd)?
        .with(launch.umask, launch.nofile)
        .bounded(&ticket.options.resources.rlimits);
    let stdio = match (ticket.options.pty_size, input) {
        (Some(size), _) => {
            Stdio::pty(size).map_err(|error| io::Error::other(format!("{NO_PTY}: {error}")))?
        }
        (None, Some(input)) => Stdio::reading(input)?,
        (None, None) => Stdio::pipes(ticket.options.stdin)?,
    };
    let (root, enclosure, boundary) = start_root(alone, launch, ticket, &plan, &stdio)?;
    pause::point("keeper-root-forked");
    let note = KeeperNote {
        keeper: process::own()?,
        nursery_id: nursery.clone(),
        root: root.root().identity().clone(),
        boundary,
        started_at_ms: clock::unix_ms(),
        exe: plan.executable(),
        process_group: Some(root.root().group()),
        instance_id: Some(ticket.owner_instance_id.clone()),
        registry_id: ticket.registry_id.clone(),
    };
    if let Err(error) = lock.write(&record::encode(&note)) {
        root.abandon();
        // The boundary held no process but the root.
        let _ = enclosure.as_ref().map(Enclosure::remove);
        let path = Path::new(&launch.directory).join("keeper");
        return Err(io::Error::other(format!("{} cannot be written: {error}", path.display())).into());
    }
    pause::point("keeper-note-written");
    Ok(GatedRoot { plan, root, enclosure, note, stdio })
}

/// Starts the root in an enclosure, or without one. Only a start shows that an enclosure is usable. A run with
/// resource limits is not started without it.
fn start_root(
    alone: &SingleThread,
    launch: &Launch,
    ticket: &Ticket,
    plan: &Plan,
    stdio: &Stdio,
) -> Result<(Gated, Option<Enclosure>, Boundary), NoRoot> {
    let why = match Enclosure::make(launch.cgroup, &ticket.owner_instance_id, &ticket.run_id) {
        Ok(enclosure) => {
            if let Err(why) = enclosure.bound(&ticket.options.resources) {
                let _ = enclosure.remove();
                return Err(io::Error::other(why).into());
            }
            match spawn::start_root(alone, plan, stdio, Some(&enclosure)) {
                Ok(gated) => {
                    let boundary = enclosure.boundary();
                    return Ok((gated, Some(enclosure), boundary));
                }
                Err(NoRoot::System(error)) => {
                    let _ = enclosure.remove();
                    format!("{enclosure}: {error}")
                }
                Err(command) => {
                    let _ = enclosure.remove();
                    return Err(command);
                }
            }
        }
        Err(why) => why,
    };
    if let Some(controller) = ticket.options.resources.controllers().first() {
        return Err(io::Error::other(controller.refusal(&why)).into());
    }
    let gated = spawn::start_root(alone, plan, stdio, None)?;
    Ok((gated, None, enclosure::without(why)))
}
