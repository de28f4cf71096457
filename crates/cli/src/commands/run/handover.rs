//! A foreground run through the daemon: the connection that asks for it becomes the connection to its keeper.

use super::request;
use crate::args::RunArgs;
use crate::failure::Failure;
use std::io;
use std::time::Duration;
use tenure_client::Client;
use tenure_core::api::Problem;
use tenure_core::spec::Spec;
use tenure_core::wire::Tell;
use tenure_keeper::frames::Frames;
use tenure_keeper::launch::Launched;
use tenure_keeper::state_root::StateRoot;
use tenure_os::clock;
use tenure_os::poll::{self, Interest};
use tenure_os::signals::Signals;
use tenure_os::socket::{Conn, Got};

/// How long the daemon may take to answer at all. It may have to wait for a place for the run after that.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest head of an answer.
const LONGEST_HEAD: usize = 64 << 10;

/// Asks the daemon for a run and waits until it has a keeper. A signal to leave meanwhile ends it with us.
pub(super) fn launch(
    client: &Client,
    state: &StateRoot,
    args: &RunArgs,
    spec: &Spec,
    signals: &Signals,
) -> Result<Launched, Failure> {
    let conn = client.connect().map_err(Failure::ours)?;
    let body = serde_json::to_vec(&request::of(args, spec)).map_err(Failure::ours)?;
    let head = format!(
        "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: tenure-keeper\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    write_all(&conn, &[head.as_bytes(), &body].concat()).map_err(Failure::ours)?;
    let rest = switched(&conn)?;
    let mut keeper = Frames::resume(conn, rest);
    let run_id = match first_word(&mut keeper, signals)? {
        Tell::Welcome { run_id, .. } => run_id,
        Tell::Refused { why } => return Err(Failure::ours(why)),
        other => return Err(super::super::unexpected(&other)),
    };
    // The keeper's first word comes after the run's directory was made.
    await_frame(&mut keeper, signals)?;
    let dir = state.run(&run_id).map_err(|error| match keeper.next_frame::<Tell>() {
        Ok(Some((Tell::Refused { why }, _))) => Failure::ours(why),
        _ => Failure::ours(format!("run {run_id}: {error}")),
    })?;
    let ticket = dir.ticket().map_err(Failure::ours)?;
    Ok(Launched { dir, ticket, keeper })
}

fn write_all(conn: &Conn, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match conn.write(bytes)? {
            0 => {
                poll::wait(&[Interest::writing(conn)], Some(PATIENCE))?;
            }
            n => bytes = &bytes[n..],
        }
    }
    Ok(())
}

/// Reads the answer's head; returns what came after it, once the connection is no more HTTP's.
fn switched(conn: &Conn) -> Result<Vec<u8>, Failure> {
    let deadline = clock::awake() + PATIENCE;
    let mut read = Vec::new();
    let mut ended = false;
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).into_owned();
            if head.starts_with("HTTP/1.1 101 ") {
                return Ok(read.split_off(end + 4));
            }
            // A refusal: its body is a problem, once all of it is here.
            if let Ok(problem) = serde_json::from_slice::<Problem>(&read[end + 4..]) {
                return Err(Failure::ours(problem.detail));
            }
        }
        let left = deadline.saturating_sub(clock::awake());
        if ended || left.is_zero() || read.len() > LONGEST_HEAD {
            return Err(Failure::ours("the daemon's answer is not understood"));
        }
        let mut chunk = [0; 4096];
        match conn.read(&mut chunk).map_err(Failure::ours)? {
            Got::Bytes(n) => read.extend_from_slice(&chunk[..n]),
            Got::End => ended = true,
            Got::Nothing => {
                let interest = Interest::reading(conn);
                poll::wait(&[interest], Some(left)).map_err(Failure::ours)?;
            }
        }
    }
}

fn first_word(keeper: &mut Frames, signals: &Signals) -> Result<Tell, Failure> {
    await_frame(keeper, signals)?;
    let frame = keeper.next_frame::<Tell>().map_err(Failure::ours)?;
    frame.map(|(tell, _)| tell).ok_or_else(|| Failure::ours("the daemon is gone, and has started nothing"))
}

/// Waits until a whole frame is here, or the other side is gone. It may take as long as the queue is.
fn await_frame(keeper: &mut Frames, signals: &Signals) -> Result<(), Failure> {
    while !keeper.has_frame() && !keeper.ended() {
        let interests = [keeper.interest(), Interest::reading(signals)];
        let ready = poll::wait(&interests, None).map_err(Failure::ours)?;
        if ready[1].read && signals.next().is_some_and(|signal| tenure_os::signals::LEAVE.contains(&signal)) {
            // Our end of the connection goes with us, and the run with that.
            return Err(Failure::cancelled("asked to leave before the command was started"));
        }
        keeper.fill();
    }
    Ok(())
}
