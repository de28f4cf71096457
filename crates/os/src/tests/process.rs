use super::{eventually, role};
use crate::process::{self, Process, Sent};
use tenure_core::identity::{Evidence, Identity};
use tenure_core::signal::Signal;

fn open(pid: i32) -> Process {
    Process::open(pid).expect("the system answers").expect("it is there")
}

#[test]
fn a_process_is_who_it_was_and_a_reused_number_is_somebody_else() {
    let mut player = role::start("wait");
    player.hear("ready");
    let seen = open(player.pid());
    assert_eq!(open(player.pid()).identity(), seen.identity(), "it is the same however often it is opened");
    assert!(matches!(process::look(seen.identity()).0, Evidence::Same(_)));
    let earlier = Identity { start_time: seen.identity().start_time - 1, ..seen.identity().clone() };
    assert_eq!(process::look(&earlier).0, Evidence::Other);
    assert_eq!(seen.judge(&earlier), Evidence::Other);
    assert!(seen.is_alive(), "nobody was touched");
}

#[test]
fn who_is_killed_is_the_one_that_is_held_and_its_end_is_no_success() {
    let mut player = role::start("wait");
    player.hear("ready");
    let seen = open(player.pid());
    let Evidence::Same(held) = seen.judge(seen.identity()) else { panic!("not held") };
    assert_eq!(seen.signal(&held, Signal::KILL), Sent::Yes);
    assert!(!player.child.wait().expect("its end").success());
    assert!(!seen.is_alive());
    assert_eq!(seen.signal(&held, Signal::KILL), Sent::Gone);
}

#[test]
fn a_process_that_left_by_itself_is_not_alive() {
    let mut player = role::start("exit 7");
    let seen = Process::open(player.pid()).expect("the system answers");
    assert_eq!(player.child.wait().expect("its end").code(), Some(7));
    eventually("its end is seen", || seen.as_ref().is_none_or(|seen| !seen.is_alive()).then_some(()));
}

#[test]
fn this_process_is_above_its_child_and_older() {
    let mut player = role::start("wait");
    player.hear("ready");
    let own = process::own().expect("this process");
    assert!(process::ancestors(player.pid()).contains(&own.pid));
    let (older, younger) = (open(own.pid).started_at_ms(), open(player.pid()).started_at_ms());
    assert!(older <= younger, "{older} {younger}");
    let now = crate::clock::unix_ms();
    assert!(younger <= now + 1000 && now - younger < 3_600_000, "{younger} {now}");
}

#[test]
fn the_executable_of_a_process_is_named() {
    let exe = open(process::own().expect("this process").pid).exe().expect("a path");
    let own = std::env::current_exe().expect("a path");
    assert_eq!(std::path::Path::new(&exe).file_name(), own.file_name());
}

#[test]
fn no_number_that_is_nobodys_is_opened() {
    for pid in [0, -1, i32::MAX] {
        assert!(Process::open(pid).expect("the system answers").is_none(), "{pid}");
    }
}
