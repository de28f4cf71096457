//! Tests of one wait for several things. The connections' tests have the wait for a connection.

use super::role;
use crate::poll::{self, Interest, Ready};
use crate::process::Process;
use std::time::{Duration, Instant};

#[test]
fn a_wait_for_nothing_lasts_as_long_as_was_said() {
    let begun = Instant::now();
    assert_eq!(poll::wait(&[], Some(Duration::from_millis(30))).unwrap(), []);
    assert!(begun.elapsed() >= Duration::from_millis(29), "{:?}", begun.elapsed());
}

#[test]
fn the_end_of_a_process_wakes_and_everything_that_is_ready_is_told() {
    let mut players = [role::start("wait"), role::start("wait"), role::start("wait")];
    let open = |player: &mut role::Player| {
        player.hear("ready");
        Process::open(player.pid()).unwrap().expect("it is there")
    };
    let processes = players.each_mut().map(open);
    let interests = || processes.each_ref().map(Interest::reading);
    assert_eq!(poll::wait(&interests(), Some(Duration::ZERO)).unwrap(), [Ready::default(); 3]);
    for player in &mut players[..2] {
        player.child.kill().unwrap();
        player.child.wait().unwrap();
    }
    let ready = poll::wait(&interests(), Some(Duration::from_secs(20))).unwrap();
    let readable: Vec<bool> = ready.iter().map(|ready| ready.read).collect();
    assert_eq!(readable, [true, true, false]);
}
