//! The laboratory: experiments that need a process of one thread, or a pid namespace of their own. Each verb is one
//! experiment; it ends with zero if everything was as promised.

mod bomb;
mod chaos;
mod init;
mod reuse;
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
        ["bomb"] => bomb::main(),
        ["chaos", seed] => chaos::main(seed),
        ["sweep", directory] => reuse::sweep(directory),
        ["hunt", directory] => reuse::hunt(directory),
        _ => {
            eprintln!("lab: no such experiment: {words:?}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
