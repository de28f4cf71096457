//! Processes that fork faster than any scan. Hoppers and bombers end by themselves after `--seconds` (120), so that one
//! that escaped from a test does not occupy the machine for ever, and fork `--births` times (8000) in all: the reaper
//! may be slow, and a machine has no more than some 30,000 pids.

use crate::args::{Args, VerbError, VerbResult};
use crate::context::ActorContext;
use crate::fork::{Forked, fork, quit};
use crate::lifetime::{nap, pause_for_ever};
use crate::signals;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// Settings of one process of a swarm.
struct SwarmSettings {
    own_session: bool,
    length: Duration,
    end_of_all: Instant,
    births_left: ForkBudget,
}

/// Number of forks that a swarm has left, shared by all of its processes.
struct ForkBudget(&'static AtomicI64);

impl ForkBudget {
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

impl SwarmSettings {
    fn take(words: &mut Args, default_length: Duration) -> Result<Self, VerbError> {
        let length = words.option("--micros")?.map_or(default_length, Duration::from_micros);
        let seconds = words.option("--seconds")?.unwrap_or(120);
        let end_of_all = Instant::now() + Duration::from_secs(seconds);
        let births_left = ForkBudget::new(words.option("--births")?.unwrap_or(8000))?;
        Ok(Self { own_session: words.flag("--setsid"), length, end_of_all, births_left })
    }

    /// First step of each new process of the swarm.
    fn begin(&self, context: &ActorContext, role: &str) -> io::Result<()> {
        if self.own_session {
            rustix::process::setsid()?;
        }
        context.record(role)
    }

    fn pass(&self) {
        nap(self.length);
        if Instant::now() > self.end_of_all {
            quit(0);
        }
    }
}

pub(crate) fn hop(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let root_exits = words.flag("--root-exits");
    let life = SwarmSettings::take(&mut words, Duration::from_micros(200))?;
    words.end()?;
    context.start(|context| hopper(context, &life))?;
    context.ready("hop")?;
    if root_exits { Ok(0) } else { pause_for_ever() }
}

/// Reports ready after two hops.
fn hopper(context: &mut ActorContext, life: &SwarmSettings) -> VerbResult {
    life.begin(context, "hopper")?;
    for hops in 0.. {
        if hops == 2u64 {
            context.tell_parent()?;
        }
        life.pass();
        if life.births_left.take() {
            move_on(|| life.begin(context, "hopper"))?;
        }
    }
    Ok(0)
}

/// Continues in a child while this process ends. If the fork fails, nothing changes.
fn move_on(begin: impl Fn() -> io::Result<()>) -> io::Result<()> {
    match fork() {
        Ok(Forked::Parent(_)) => quit(0),
        Ok(Forked::Child) => begin(),
        Err(_) => Ok(()),
    }
}

/// Each process fills free slots with children, and now and then continues in a child of its own. The first
/// one stays, and is ready when all slots are taken.
pub(crate) fn bomb(context: &mut ActorContext, mut words: Args) -> VerbResult {
    let limit: u32 = words.option("--limit")?.unwrap_or(300);
    let life = SwarmSettings::take(&mut words, Duration::from_millis(50))?;
    words.end()?;
    // The children are never waited for.
    signals::ignore(libc::SIGCHLD);
    let places = Slots::new(limit)?;
    let mut mine = places.take(limit);
    let (mut is_first, mut is_ready) = (true, false);
    loop {
        // The others try a few slots only: a try is expensive, and there are many of them.
        if let Some(free) = places.take(if is_first { limit } else { 4 }).filter(|_| life.births_left.take())
        {
            match fork() {
                Ok(Forked::Child) => {
                    is_first = false;
                    context.leave_telling();
                    // The copy of its parent's slot must not outlive the parent.
                    drop(mine.replace(free));
                    life.begin(context, "bomber")?;
                }
                Ok(Forked::Parent(_)) => {}
                Err(_) => life.pass(),
            }
        } else if is_first {
            if !std::mem::replace(&mut is_ready, true) {
                context.ready("bomb")?;
            }
            life.pass();
        } else {
            life.pass();
            if life.births_left.take() {
                move_on(|| life.begin(context, "bomber"))?;
            }
        }
    }
}

/// Process slots of a bomb. A slot is an abstract socket name, because the kernel frees it when its last
/// holder dies, by whatever death, and because a parent can take it and leave it to its child.
struct Slots {
    bomb: u64,
    limit: u32,
}

impl Slots {
    fn new(limit: u32) -> io::Result<Self> {
        let mut id = [0; 8];
        rustix::rand::getrandom(&mut id, rustix::rand::GetRandomFlags::empty())?;
        Ok(Self { bomb: u64::from_ne_bytes(id), limit })
    }

    /// Takes a free slot, if there is one among `tries` slots, starting at one that differs by process.
    fn take(&self, tries: u32) -> Option<UnixDatagram> {
        let from = std::process::id();
        (0..tries).find_map(|step| {
            let name = format!("actor-bomb-{:x}-{}", self.bomb, from.wrapping_add(step) % self.limit);
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name).ok()?).ok()
        })
    }
}

/// Answers SIGTERM by continuing in a copy of itself.
pub(crate) fn refork(context: &mut ActorContext, words: Args) -> VerbResult {
    words.end()?;
    signals::block([libc::SIGTERM]);
    context.ready("refork")?;
    loop {
        signals::take(libc::SIGTERM);
        move_on(|| context.record("refork"))?;
    }
}
