//! `tenure events`: print past events, and follow new ones. Following continues with the next daemon.

use crate::args::EventsArgs;
use crate::failure::Failure;
use crate::print::{self, Context};
use crate::{daemon_client, settings};
use tenure_client::CallError;
use tenure_core::api::Event;
use tenure_core::visible::visible_json;
use tenure_os::stderr::complain;

pub(crate) fn run(args: &EventsArgs) -> Result<u8, Failure> {
    let settings = settings::load_leniently()?;
    let mut since = args.since.or((!args.follow).then_some(0));
    let mut client = daemon_client::require(&settings)?;
    loop {
        let mut printed = Ok(());
        let take = |event: Event| {
            printed = show(&event, args.json);
            printed.is_ok()
        };
        let ended = daemon_client::try_call(client.events(&mut since, args.follow, take))?;
        printed?;
        match ended {
            Ok(()) if !args.follow => return Ok(0),
            Ok(()) => {}
            Err(failed) if args.follow && failed.is_lost() => {}
            Err(failed @ CallError::Silent { .. }) if args.follow => complain(format_args!("{failed}")),
            Err(failed) => return Err(daemon_client::to_failure(&failed)),
        }
        client = daemon_client::wait_for_next(&settings)?;
    }
}

fn show(event: &Event, json: bool) -> Result<(), Failure> {
    if json {
        return print::json(event);
    }
    print::line(&line(&Context::of_stdout(), event))
}

/// Formats an event as one line.
pub(crate) fn line(context: &Context, event: &Event) -> String {
    let run = event.run_id.as_ref().map_or("-", |run| print::short(run.as_str()));
    let (at, detail) = (context.exact(event.at_ms), event.detail.to_string());
    // A heartbeat has no number: no client can resume from it.
    let seq = event.seq.map_or("-".to_owned(), |seq| seq.to_string());
    format!("{seq:>6}  {at}  {run:12}  {:<16}  {}", event.kind, visible_json(&detail))
}
