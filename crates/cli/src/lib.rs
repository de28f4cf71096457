//! The `tenure` command: parse, dispatch, exit code.
#![forbid(unsafe_code)]

mod args;
mod commands;
#[cfg(test)]
mod docs_tables;
mod doctor;
// The texts are frozen on one system; paths differ on others.
mod caller_context;
mod daemon_client;
#[cfg(test)]
#[cfg(unix)]
mod faces;
mod failure;
mod print;
mod service_units;
mod settings;

use args::{Command, ParseResult};
use failure::Failure;
use std::process::ExitCode;

/// Runs the command line that this process was started with.
pub fn main() -> ExitCode {
    let result = match args::parse() {
        ParseResult::Command(command) => dispatch(*command),
        ParseResult::Done(code) => return ExitCode::from(code),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.report();
            ExitCode::from(failure.code())
        }
    }
}

fn dispatch(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Run(args) => commands::run::run(&args),
        Command::Exec(args) => commands::exec::run(&args),
        Command::Process(args) => commands::process::run(&args),
        Command::Approvals(args) => commands::approvals::run(&args),
        Command::Allowlist(args) => commands::allowlist::run(&args),
        Command::Sessions(args) => commands::sessions::run(&args),
        Command::Acp(args) => commands::acp::run(&args),
        Command::Tasks(args) => commands::tasks::run(&args),
        Command::Agents(args) => commands::agents::run(&args),
        Command::Ps(args) => commands::ps::run(&args),
        Command::Show(args) => commands::show::run(&args),
        Command::Tree(args) => commands::tree::run(&args),
        Command::Logs(args) => commands::logs::run(&args),
        Command::Wait(args) => commands::wait::run(&args),
        Command::Cancel(args) => commands::cancel::run(&args),
        Command::Write(args) => commands::write::run(&args),
        Command::Screen(args) => commands::screen::run(&args),
        Command::SendKeys(args) => commands::send_keys::run(&args),
        Command::Paste(args) => commands::paste::run(&args),
        Command::Submit(args) => commands::submit::run(&args),
        Command::Attach(args) => commands::attach::run(&args),
        Command::Resize(args) => commands::resize::run(&args),
        Command::Rm(args) => commands::rm::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Daemon(args) => commands::daemon::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args),
        Command::Why(args) => commands::why::run(&args),
        Command::Reap(args) => commands::reap::run(&args),
        Command::Events(args) => commands::events::run(&args),
        Command::Metrics(args) => commands::metrics::run(&args),
        Command::Backup(args) => commands::backup::run(&args),
        Command::Mcp(args) => commands::mcp::run(&args),
        Command::Nursery(args) => commands::nursery::run(&args),
        Command::Keeper(args) => commands::keeper::run(&args),
    }
}
