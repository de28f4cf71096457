//! `tenure approvals`: list and answer approval requests, of exec and of ACP agents.

use crate::args::{ApprovalsArgs, ApprovalsVerb, ChooseArgs};
use crate::failure::Failure;
use crate::{daemon_client, print, settings};
use tenure_client::{Answer, Client};
use tenure_core::api::Approval;
use tenure_core::ids::find_by_prefix;
use tenure_core::visible::{cut, visible};

/// Maximum length of the command in the reply to an answer, in bytes.
const HEADLINE_BYTES: usize = 400;

pub(crate) fn run(args: &ApprovalsArgs) -> Result<u8, Failure> {
    let client = daemon_client::require(&settings::load_leniently()?)?;
    match &args.verb {
        None => list(&client, false, args.json),
        Some(ApprovalsVerb::List(list_args)) => list(&client, list_args.all, args.json),
        Some(ApprovalsVerb::Show(which)) => show(&client, &which.id, args.json),
        Some(ApprovalsVerb::AllowOnce(which)) => answer(&client, &which.ids, Answer::AllowOnce, args.json),
        Some(ApprovalsVerb::AllowAlways(which)) => {
            answer(&client, &which.ids, Answer::AllowAlways, args.json)
        }
        Some(ApprovalsVerb::Deny(which)) => answer(&client, &which.ids, Answer::Deny, args.json),
        Some(ApprovalsVerb::Choose(which)) => choose(&client, which, args.json),
    }?;
    Ok(0)
}

fn list(client: &Client, all: bool, json: bool) -> Result<(), Failure> {
    let list = daemon_client::call(client.approvals(all))?.approvals;
    if json { print::json(&list) } else { print::approvals(&list) }
}

/// Prints one approval request in full, by its id or a unique prefix of it.
fn show(client: &Client, id: &str, json: bool) -> Result<(), Failure> {
    let list = daemon_client::call(client.approvals(true))?.approvals;
    let found = find_by_prefix(id, "approval requests", &list, |approval| approval.id.as_str());
    match found.map_err(Failure::refused)? {
        Some(one) if json => print::json(one),
        Some(one) => print::approval(one),
        None => Err(Failure::no_such(format!(
            "no approval request has the id {id:?}: `tenure approvals list --all` lists them"
        ))),
    }
}

/// Sends and prints the answers one by one: a refused answer does not undo the earlier ones.
fn answer(client: &Client, ids: &[String], answer: Answer, json: bool) -> Result<(), Failure> {
    for id in ids {
        let answered = daemon_client::call(client.answer(id, answer))?;
        if json {
            print::json(&answered)?;
        } else {
            print::line(&answer_message(&answered, answer))?;
        }
    }
    Ok(())
}

fn choose(client: &Client, which: &ChooseArgs, json: bool) -> Result<(), Failure> {
    let answered = daemon_client::call(client.choose(&which.id, &which.option))?;
    if json { print::json(&answered) } else { print::line(&choice_message(&answered)) }
}

/// Message for an answered request of an agent.
fn choice_message(approval: &Approval) -> String {
    let option = approval.options.iter().find(|option| Some(&option.id) == approval.option.as_ref());
    let choice = match option {
        Some(option) => {
            format!("\"{}\" ({})", visible(&option.name), visible(&option.kind).replace('_', " "))
        }
        None => approval.state.clone(),
    };
    format!("answered the agent with {choice}: {}", headline(approval))
}

/// Command of the request, on one line.
fn headline(approval: &Approval) -> String {
    visible(&cut(&approval.command, HEADLINE_BYTES)).into_owned()
}

fn answer_message(approval: &Approval, answer: Answer) -> String {
    if !approval.options.is_empty() {
        return choice_message(approval);
    }
    let command = headline(approval);
    let id = print::short(approval.id.as_str());
    match answer {
        Answer::AllowOnce => format!("run {id} is started: {command}"),
        Answer::AllowAlways => format!("run {id} is started, and needs no approval from now on: {command}"),
        Answer::Deny => format!("run {id} is denied: {command}"),
    }
}
