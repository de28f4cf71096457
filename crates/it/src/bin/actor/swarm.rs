//! Processes that fork faster than anybody can look. Hoppers and bombers end by themselves after `--seconds` (120),
//! so that one that escaped from a test does not eat the machine for ever, and are born `--births` times (8000) in
//! all: whoever reaps them may be slow, and a machine has no more than some 30,000 pids.

use crate::fork::{Forked, fork, quit};
use crate::life::{nap, pause_for_ever};
use crate::signals;
use crate::stage::Stage;
use crate::words::{Fault, Outcome, Words};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// How one process of a swarm lives.
struct Life {
    own_session: bool,
    length: Duration,
    end_of_all: Instant,
    births_left: Births,
}

/// How often a swarm may still fork: one number that all of its processes share.
struct Births(&'static AtomicI64);

impl Births {
    fn new(most: i64) -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new page at an address of the kernel's choice aliases nothing.
        let page = unsafe { mmap_anonymous(std::ptr::null_mut(), 4096, protection, MapFlags::SHARED)? };
        // SAFETY: the page is never unmapped, is aligned, and zeroes are a valid number.
        let number: &'static AtomicI64 = unsafe { &*page.cast() };
        number.store(most, Ordering::Relaxed);
        Ok(Self(number))
    }

    fn take(&self) -> bool {
        self.0.fetch_sub(1, Ordering::Relaxed) > 0
    }
}

impl Life {
    fn take(words: &mut Words, default_length: Duration) -> Result<Self, Fault> {
        let length = words.option("--micros")?.map_or(default_length, Duration::from_micros);
        let seconds = words.option("--seconds")?.unwrap_or(120);
        let end_of_all = Instant::now() + Duration::from_secs(seconds);
        let births_left = Births::new(words.option("--births")?.unwrap_or(8000))?;
        Ok(Self { own_session: words.flag("--setsid"), length, end_of_all, births_left })
    }

    /// What each new process of the swarm does first.
    fn begin(&self, stage: &Stage, role: &str) -> io::Result<()> {
        if self.own_session {
            rustix::process::setsid()?;
        }
        stage.record(role)
    }

    fn pass(&self) {
        nap(self.length);
        if Instant::now() > self.end_of_all {
            quit(0);
        }
    }
}

pub(crate) fn hop(stage: &mut Stage, mut words: Words) -> Outcome {
    let root_exits = words.flag("--root-exits");
    let life = Life::take(&mut words, Duration::from_micros(200))?;
    words.end()?;
    stage.start(|stage| hopper(stage, &life))?;
    stage.ready("hop")?;
    if root_exits { Ok(0) } else { pause_for_ever() }
}

/// Is ready when it has hopped twice.
fn hopper(stage: &mut Stage, life: &Life) -> Outcome {
    life.begin(stage, "hopper")?;
    for hops in 0.. {
        if hops == 2u64 {
            stage.tell_parent()?;
        }
        life.pass();
        if life.births_left.take() {
            move_on(|| life.begin(stage, "hopper"))?;
        }
    }
    Ok(0)
}

/// Goes on in a child while this process ends; where no process can be made, nothing changes.
fn move_on(begin: impl Fn() -> io::Result<()>) -> io::Result<()> {
    match fork() {
        Ok(Forked::Parent(_)) => quit(0),
        Ok(Forked::Child) => begin(),
        Err(_) => Ok(()),
    }
}

/// Each process fills the places that it finds free with children, and now and then goes on in a child of its own.
/// The first one stays, and is ready when all places are taken.
pub(crate) fn bomb(stage: &mut Stage, mut words: Words) -> Outcome {
    let limit: u32 = words.option("--limit")?.unwrap_or(300);
    let life = Life::take(&mut words, Duration::from_millis(50))?;
    words.end()?;
    // Nobody waits for the dead.
    signals::ignore(libc::SIGCHLD);
    let places = Places::new(limit)?;
    let mut mine = places.take(limit);
    let (mut is_first, mut is_ready) = (true, false);
    loop {
        // The others look at a few places only: looking is dear, and there are many of them.
        if let Some(free) = places.take(if is_first { limit } else { 4 }).filter(|_| life.births_left.take())
        {
            match fork() {
                Ok(Forked::Child) => {
                    is_first = false;
                    stage.leave_telling();
                    // The copy of its parent's place must not outlive the parent.
                    drop(mine.replace(free));
                    life.begin(stage, "bomber")?;
                }
                Ok(Forked::Parent(_)) => {}
                Err(_) => life.pass(),
            }
        } else if is_first {
            if !std::mem::replace(&mut is_ready, true) {
                stage.ready("bomb")?;
            }
            life.pass();
        } else {
            life.pass();
            if life.births_left.take() {
                move_on(|| life.begin(stage, "bomber"))?;
            }
        }
    }
}

/// The places for processes that a bomb has. A place is an abstract socket name, because the kernel frees it when its
/// last holder dies, by whatever death, and because a parent can take it and leave it to its child.
struct Places {
    bomb: u64,
    limit: u32,
}

impl Places {
    fn new(limit: u32) -> io::Result<Self> {
        let mut id = [0; 8];
        rustix::rand::getrandom(&mut id, rustix::rand::GetRandomFlags::empty())?;
        Ok(Self { bomb: u64::from_ne_bytes(id), limit })
    }

    /// A free place, if there is one among the `tries` places from one that differs by process.
    fn take(&self, tries: u32) -> Option<UnixDatagram> {
        let from = std::process::id();
        (0..tries).find_map(|step| {
            let name = format!("actor-bomb-{:x}-{}", self.bomb, from.wrapping_add(step) % self.limit);
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name).ok()?).ok()
        })
    }
}

/// Answers SIGTERM by going on in a copy of itself.
pub(crate) fn refork(stage: &mut Stage, words: Words) -> Outcome {
    words.end()?;
    signals::block([libc::SIGTERM]);
    stage.ready("refork")?;
    loop {
        signals::take(libc::SIGTERM);
        move_on(|| stage.record("refork"))?;
    }
}
