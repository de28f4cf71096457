//! The nursery: one thread that forks a keeper for each launch without executing a program, so a keeper costs little.
//! The nursery is the subreaper of everything below its keepers: a child that is no keeper is the orphan of a dead
//! keeper. The nursery kills such orphans and writes the ending of the dead keeper's run. As long as a keeper lives,
//! the nursery outlives the process that started it.

use crate::frames::Frames;
use crate::keeper;
use crate::orphaned::by_parent::{self, FallenRun, UnwrittenEnding};
use crate::orphaned::{clean_up, close_unkept};
use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_core::ending::Exit;
use tenure_core::ids::NurseryId;
use tenure_core::wire::{self, Connection, KeeperMessage, Launch};
use tenure_os::file::Dir;
use tenure_os::fork::{self, ChildSpec, SingleThread};
use tenure_os::lock::Lock;
use tenure_os::poll::{self, Interest};
use tenure_os::signals::{self, Signals};
use tenure_os::socket::{Conn, Got, Passing};
use tenure_os::stderr::complain;
use tenure_os::{descriptors, enclosure, pause, process, program, reaper, tree};

/// Time between two looks for orphans while there are any: not every death of theirs sends us a signal.
const ORPHAN_POLL: Duration = Duration::from_millis(2);
/// Time between two attempts to kill the orphans of a stop that was given up, and to write endings that the disk
/// refused.
const GIVE_UP_RETRY: Duration = Duration::from_secs(1);

/// Size of one read; most launches fit. Each page written here is copied first, because the last keeper shares it.
const READ_AT_ONCE: usize = 16 << 10;

struct Nursery {
    alone: SingleThread,
    id: NurseryId,
    /// The directory of the nurseries' locks in the state root, held open.
    nurseries: Dir,
    signals: Signals,
    /// The process that started us; `None` once it is gone.
    client: Option<Client>,
    /// The directory of each living keeper's run.
    keepers: HashMap<i32, String>,
    fallen: Vec<FallenRun>,
    /// Endings that the disk refused. If some are left when the nursery exits, the daemon closes those runs.
    unwritten: Vec<UnwrittenEnding>,
}

/// The connection that launches come on.
struct Client {
    passing: Passing,
    connection: Connection,
    passed: VecDeque<Conn>,
}

/// A received launch, with the keeper's first connections.
struct LaunchRequest {
    launch: Launch,
    body: Vec<u8>,
    conns: Vec<Conn>,
}

/// Runs the nursery until its last keeper is gone and no client can request another.
pub fn main(id: &NurseryId, state: &Path) -> io::Result<()> {
    let conn = program::inherited_conn()?;
    descriptors::null_stdio()?;
    descriptors::close_all_but(&conn)?;
    descriptors::raise_limit();
    tenure_os::file::make_private();
    fork::new_session()?;
    reaper::become_subreaper()?;
    signals::reset();
    let mut taken = signals::LEAVE.to_vec();
    taken.push(signals::CHILD);
    let signals = Signals::take(&taken)?;
    program::set_name(c"tenure-nursery");
    let nurseries = Dir::open(&state.join("nurseries"))?;
    let lock = Lock::take(&nurseries, id.as_str())?;
    if lock.is_none() {
        return Err(io::Error::other(format!("nursery {id} is already running")));
    }
    cache_facts()?;
    let client =
        Client { passing: Passing::from(conn), connection: Connection::default(), passed: VecDeque::new() };
    let mut nursery = Nursery {
        alone: SingleThread::check()?,
        id: id.clone(),
        nurseries,
        signals,
        client: Some(client),
        keepers: HashMap::new(),
        fallen: Vec::new(),
        unwritten: Vec::new(),
    };
    let result = nursery.serve();
    nursery.nurseries.remove(id.as_str())?;
    drop(lock);
    result
}

/// Caches facts that never change before the first fork, so that no keeper has to look them up.
fn cache_facts() -> io::Result<()> {
    process::own()?;
    enclosure::cache_facts();
    Ok(())
}

impl Nursery {
    fn serve(&mut self) -> io::Result<()> {
        let mut orphans = false;
        while self.client.is_some() || !self.keepers.is_empty() || orphans || !self.fallen.is_empty() {
            let mut interests = vec![Interest::reading(&self.signals)];
            interests.extend(self.client.as_ref().map(Client::interest));
            // Orphans without a fallen keeper survived a stop that was given up.
            let given_up = orphans || !self.unwritten.is_empty();
            let timeout = match (given_up, self.fallen.is_empty()) {
                (_, false) => Some(ORPHAN_POLL),
                (true, true) => Some(GIVE_UP_RETRY),
                (false, true) => None,
            };
            let ready = poll::wait(&interests, timeout)?;
            // First the launch: a client waits for it.
            if ready.get(1).is_some_and(|ready| ready.read) {
                self.read_launches();
            }
            // Signals to exit are read and dropped: the nursery exits with its last keeper. A keeper's death, which
            // makes orphans, is a signal too.
            let mut signalled = false;
            while self.signals.next().is_some() {
                signalled = true;
            }
            if signalled || timeout.is_some() {
                self.unwritten.retain(|ending| !ending.write());
                self.reap();
                orphans = self.stop_round();
            }
        }
        Ok(())
    }

    /// Handles every child that exited: a keeper, or an orphan.
    fn reap(&mut self) {
        for ended in reaper::reap_now() {
            match self.keepers.remove(&ended.pid) {
                // The exit code of a keeper whose ending is on disk or with its holder.
                Some(_) if ended.exit == Exit::Code(keeper::EXIT_DONE.into()) => {}
                Some(directory) if ended.exit == Exit::Code(keeper::EXIT_UNRECORDED.into()) => {
                    self.fallen.extend(FallenRun::read_unrecorded(&self.current_path(&directory)));
                }
                Some(directory) => {
                    let directory = self.current_path(&directory);
                    clean_up(&directory);
                    self.fallen.extend(FallenRun::read(&directory));
                }
                None => self.fallen.iter_mut().for_each(|fallen| fallen.reaped(ended)),
            }
        }
    }

    /// Returns the current path of a run's directory: the state root may have been moved since the launch named it.
    fn current_path(&self, directory: &str) -> PathBuf {
        let launched = Path::new(directory);
        let (before, now) = (self.nurseries.path(), self.nurseries.current_path());
        match (before.parent().and_then(|root| launched.strip_prefix(root).ok()), now.parent()) {
            (Some(below), Some(root)) => root.join(below),
            _ => launched.to_owned(),
        }
    }

    /// Kills all children that are not keepers. Once none is left, writes the endings of the fallen keepers' runs.
    /// Returns true if a process is left.
    fn stop_round(&mut self) -> bool {
        let keepers: HashSet<i32> = self.keepers.keys().copied().collect();
        if self.fallen.is_empty() && tree::own_children().iter().all(|pid| keepers.contains(pid)) {
            return false;
        }
        let found = by_parent::find_orphans(&keepers, &mut self.fallen);
        // An orphan's keeper died before the orphan was found, so after this reap its run is known.
        self.reap();
        by_parent::kill_orphans(found, &keepers, &mut self.fallen, &mut self.unwritten)
    }

    fn read_launches(&mut self) {
        let Some(mut client) = self.client.take() else { return };
        let mut open = client.read();
        loop {
            match client.next_launch() {
                Ok(Some(request)) => self.launch(request),
                Ok(None) => break,
                Err(error) => {
                    complain(format_args!("the nursery's client is disconnected: {error}"));
                    open = false;
                    break;
                }
            }
        }
        self.client = open.then_some(client);
    }

    fn launch(&mut self, LaunchRequest { launch, body, conns }: LaunchRequest) {
        pause::point("nursery-before-fork");
        let forked = {
            let (alone, id, launch, body) = (&self.alone, &self.id, &launch, Cell::new(body));
            let words = [OsStr::new("keeper"), OsStr::new(id.as_str())];
            let message = &|| wire::encode(launch, &body.take());
            let child = ChildSpec { words: &words, message, conns: &conns, inherits_environment: false };
            alone.start_child(&child, |conns| keeper::main(alone, id, launch, body.take(), conns))
        };
        match forked {
            Ok(pid) => {
                self.keepers.insert(pid, launch.directory);
            }
            Err(error) => {
                let why = format!("the nursery cannot fork a keeper: {error}");
                close_unkept(&self.current_path(&launch.directory), &why);
                for conn in conns {
                    Frames::new(conn).send(&KeeperMessage::Refused { why: why.clone() }, &[]);
                }
            }
        }
    }
}

impl Client {
    fn interest(&self) -> Interest<'_> {
        Interest::reading(self.passing.conn())
    }

    /// Reads the available bytes; returns false once the connection has ended.
    fn read(&mut self) -> bool {
        loop {
            let passing = &self.passing;
            let got = self.connection.read_in(READ_AT_ONCE, |room| {
                let got = passing.receive(room);
                (if let Ok((Got::Bytes(n), _)) = &got { *n } else { 0 }, got)
            });
            match got {
                Ok((Got::Bytes(n), passed)) => {
                    self.passed.extend(passed);
                    if n < READ_AT_ONCE {
                        return true; // if there is more, the next wait returns at once
                    }
                }
                Ok((Got::Nothing, _)) => return true,
                Ok((Got::End, _)) | Err(_) => return false,
            }
        }
    }

    /// Returns the next whole launch with its keeper's first connections. A client that sends anything else is
    /// disconnected.
    fn next_launch(&mut self) -> io::Result<Option<LaunchRequest>> {
        let next = self.connection.next_frame::<Launch>().map_err(io::Error::other)?;
        let Some((launch, body)) = next else { return Ok(None) };
        let count = launch.roles.len();
        if count == 0 || count > self.passed.len() {
            return Err(io::Error::other("the launch has fewer connections than roles"));
        }
        let conns = self.passed.drain(..count).collect();
        Ok(Some(LaunchRequest { launch, body, conns }))
    }
}

/// Returns true if a process is a live nursery of this state root, or was forked from one: a keeper has its nursery's
/// command line.
pub fn is_of(state: &Path, pid: i32) -> bool {
    let words = process::Process::open(pid).ok().flatten().and_then(|process| process.words().ok());
    let named = words.as_deref().and_then(|words| match words {
        [_, role, id, ..] if role == "nursery" || role == "keeper" => id.parse().ok(),
        _ => None,
    });
    named.is_some_and(|id| lives(state, &id).unwrap_or(true))
}

/// Returns true if the nursery of a run lives.
pub fn lives(state: &Path, id: &NurseryId) -> io::Result<bool> {
    let dir = Dir::open(&state.join("nurseries"))?;
    Ok(tenure_os::lock::holder(&dir, id.as_str())? == tenure_os::lock::Holder::Somebody)
}
