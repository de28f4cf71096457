//! A foreground run through the daemon: the connection that asks for it becomes the connection to its keeper.

use super::typing::Input;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::reach;
use std::io;
use std::time::Duration;
use tenure_client::Client;
use tenure_core::api::{PASS_STDIN, Problem, RunRequest, STDIN_HEADER};
use tenure_core::defaults::{PROBE_AFTER, PROBE_EVERY, PROBE_LIMIT};
use tenure_core::wire::Tell;
use tenure_keeper::frames::Frames;
use tenure_keeper::launch::Launched;
use tenure_keeper::state_root::StateRoot;
use tenure_os::clock;
use tenure_os::poll::{self, Interest};
use tenure_os::signals::Signals;
use tenure_os::socket::{Conn, Got};

/// How long the daemon may take to answer at all. It may have to wait for a place for the run after that.
const PATIENCE: Duration = PROBE_AFTER.saturating_add(PROBE_LIMIT);
/// Interval between two tries to connect.
const RETRY: Duration = Duration::from_millis(50);
/// The error when the daemon died before it reported the run as recorded.
const DAEMON_GONE: &str = "the daemon is gone, and has started nothing";
/// The longest head of an answer.
const LONGEST_HEAD: usize = 64 << 10;

/// Asks the daemon for a run and waits until it has a keeper. A signal to leave meanwhile ends it with us.
pub(super) fn launch(
    client: &Client,
    state: &StateRoot,
    args: &RunArgs,
    request: &RunRequest,
    signals: &Signals,
) -> Result<(Launched, Input), Failure> {
    let conn = connect(client)?;
    let body = serde_json::to_vec(request).map_err(Failure::ours)?;
    let mut input = Input::of(args);
    let stdin =
        if input == Input::Passed { format!("{STDIN_HEADER}: {PASS_STDIN}\r\n") } else { String::new() };
    let head = format!(
        "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: tenure-keeper\r\n{stdin}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    write_all(client, &conn, &[head.as_bytes(), &body].concat())?;
    let rest = switched(client, &conn)?;
    let mut keeper = Frames::resume(conn, rest);
    let run_id = match first_word(client, &mut keeper, signals)? {
        Tell::Welcome { run_id, takes_stdin: true, .. } => {
            input.pass(&mut keeper)?;
            run_id
        }
        // A daemon from before the last upgrade does not take it.
        Tell::Welcome { run_id, takes_stdin: false, .. } => {
            input.copy_instead();
            run_id
        }
        Tell::Refused { why } => return Err(Failure::ours(why)),
        other => return Err(super::super::unexpected(&other)),
    };
    // The keeper's first word comes after the run's directory was made.
    await_frame(client, &mut keeper, signals)?;
    let dir = state.run(&run_id).map_err(|error| match keeper.next_frame::<Tell>() {
        Ok(Some((Tell::Refused { why }, _))) => Failure::ours(why),
        _ => Failure::ours(format!("run {run_id}: {error}")),
    })?;
    let ticket = dir.ticket().map_err(Failure::ours)?;
    Ok((Launched { dir, ticket, keeper }, input))
}

/// Connects. Retries for a while if the backlog is full.
fn connect(client: &Client) -> Result<Conn, Failure> {
    let deadline = clock::awake() + PATIENCE;
    loop {
        match client.connect() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(Failure::ours(error)),
            Err(_) if clock::awake() >= deadline => return Err(silent(client)),
            Err(_) => poll::wait(&[], Some(RETRY)).map(drop).map_err(Failure::ours)?,
            Ok(conn) => return Ok(conn),
        }
    }
}

fn silent(client: &Client) -> Failure {
    Failure::silent(client.silent())
}

fn write_all(client: &Client, conn: &Conn, mut bytes: &[u8]) -> Result<(), Failure> {
    let mut deadline = clock::awake() + PATIENCE;
    while !bytes.is_empty() {
        match conn.write(bytes).map_err(Failure::ours)? {
            0 => {
                let left = deadline.saturating_sub(clock::awake());
                if left.is_zero() {
                    return Err(silent(client));
                }
                poll::wait(&[Interest::writing(conn)], Some(left)).map_err(Failure::ours)?;
            }
            n => {
                bytes = &bytes[n..];
                deadline = clock::awake() + PATIENCE;
            }
        }
    }
    Ok(())
}

/// A refusal of a foreground run.
pub(crate) fn refused(problem: Problem) -> Failure {
    match problem.code.as_str() {
        "too-long" => Failure::not_startable(problem.detail),
        _ => Failure::ours(problem.detail),
    }
}

/// Reads the answer's head; returns what came after it, once the connection is no more HTTP's.
fn switched(client: &Client, conn: &Conn) -> Result<Vec<u8>, Failure> {
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
                return Err(refused(problem));
            }
        }
        let left = deadline.saturating_sub(clock::awake());
        if left.is_zero() && read.is_empty() {
            return Err(silent(client));
        }
        if ended && read.is_empty() {
            return Err(Failure::ours(DAEMON_GONE));
        }
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

fn first_word(client: &Client, keeper: &mut Frames, signals: &Signals) -> Result<Tell, Failure> {
    await_frame(client, keeper, signals)?;
    let frame = keeper.next_frame::<Tell>().map_err(Failure::ours)?;
    frame.map(|(tell, _)| tell).ok_or_else(|| Failure::ours(DAEMON_GONE))
}

/// Waits for a whole frame, or until the other side is gone. While the daemon is alive there is no limit, because the
/// run may be queued.
fn await_frame(client: &Client, keeper: &mut Frames, signals: &Signals) -> Result<(), Failure> {
    let mut pause = PROBE_AFTER;
    while !keeper.has_frame() && !keeper.ended() {
        let interests = [keeper.interest(), Interest::reading(signals)];
        let ready = poll::wait(&interests, Some(pause)).map_err(Failure::ours)?;
        if !ready.iter().any(|one| one.read || one.write) {
            reach::wait(client.probe())?;
            pause = (pause * 2).min(PROBE_EVERY);
        }
        if ready[1].read && signals.next().is_some_and(|signal| tenure_os::signals::LEAVE.contains(&signal)) {
            // Our end of the connection goes with us, and the run with that.
            return Err(Failure::cancelled("asked to leave before the command was started"));
        }
        keeper.fill();
    }
    Ok(())
}
