//! `tenure allowlist`: list and change the programs that exec runs without approval.

use crate::args::{AllowArgs, AllowlistArgs, AllowlistVerb};
use crate::failure::Failure;
use crate::{daemon_client, print, settings};
use tenure_client::Client;
use tenure_core::api::AllowRequest;
use tenure_os::stderr::complain;

pub(crate) fn run(args: &AllowlistArgs) -> Result<u8, Failure> {
    let client = daemon_client::require(&settings::load_leniently()?)?;
    match &args.verb {
        None | Some(AllowlistVerb::List) => list(&client, args.json),
        Some(AllowlistVerb::Add(what)) => add(&client, what, args.json),
        Some(AllowlistVerb::Remove(which)) => {
            which.ids.iter().try_for_each(|id| daemon_client::call(client.disallow(id)))
        }
    }?;
    Ok(0)
}

fn list(client: &Client, json: bool) -> Result<(), Failure> {
    let entries = daemon_client::call(client.allowlist())?.entries;
    if json { print::json(&entries) } else { print::allowed(&entries) }
}

fn add(client: &Client, what: &AllowArgs, json: bool) -> Result<(), Failure> {
    let request =
        AllowRequest { program: what.program.clone(), args: what.args.clone(), agent: what.agent.clone() };
    let allowed = daemon_client::call(client.allow(&request))?;
    if json {
        return print::json(&allowed);
    }
    print::line(&allowed.id.to_string())?;
    if let Some(note) = &allowed.note {
        complain(print::plain(note));
    }
    Ok(())
}
