//! The laboratory: experiments that need a process of one thread, or a pid namespace of their own. Each verb is one
//! experiment; it exits with zero if every promise held.

mod bomb;
mod chaos;
mod daemon_chaos;
mod descriptors;
mod freeze;
mod init;
mod lock;
mod old_keeper;
mod reconcile;
mod reuse;
mod spawn;
mod stranger;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["init", pid_max, ref words @ ..] => return init::main(pid_max, words),
        ["reuse-in-one-tick"] => reuse::in_one_tick(),
        ["reuse-of-a-member"] => reuse::of_a_member(),
        ["reuse-of-a-run"] => reuse::of_a_run(),
        ["reconcile-reuse"] => reconcile::strangers_with_the_pids_of_a_run_are_left_alone(),
        ["old-keeper", directory, record] => old_keeper::main(directory, record),
        ["bomb"] => bomb::main(),
        ["lock-dies-with-its-holder"] => lock::dies_with_its_holder(),
        ["lock-is-not-inherited"] => lock::is_not_inherited(),
        ["descriptors"] => descriptors::all_but_the_passed_are_closed(),
        ["spawn-failures"] => spawn::failures_have_their_reasons(),
        ["spawn-gate"] => spawn::an_unopened_gate_lets_nobody_through(),
        ["spawn-ended-root"] => spawn::an_ended_root_keeps_its_number(),
        ["spawn-group"] => spawn::a_group_signal_reaches_the_whole_group_and_nobody_else(),
        ["spawn-cgroup"] => spawn::a_root_is_in_its_cgroup_before_it_executes(),
        ["freeze"] => freeze::stops_everything_and_outruns_forks(false),
        ["freeze-hurried"] => freeze::stops_everything_and_outruns_forks(true),
        ["chaos", seed] => chaos::main(seed),
        ["daemon-chaos", seed] => daemon_chaos::main(seed),
        ["sweep", directory] => reuse::sweep(directory),
        ["hunt", directory] => reuse::reconcile_as_nursery(directory),
        _ => {
            eprintln!("lab: no such experiment: {words:?}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
