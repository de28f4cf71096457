//! Reads and checks the descriptions of CLI agents, built-in or from `[agents.NAME]` in `config.toml`.

use crate::adapter_description::{limit, silence};
use crate::agent_description::{Agent, Output, PromptChannel, Read, Span, Terminal, TurnLimits};
use crate::description_layers::{ACP, Described, Layers, command};
use crate::environment::{ENV, ENV_PASS, ENV_REMOVE, Environment};
use crate::rule::Rule;
use crate::template::{Argument, EXTRA, Place, Template};
use std::path::Path;
use tenure_core::defaults;
use tenure_core::limits::Activity;
use tenure_core::session::AgentId;
use tenure_settings::described::{BadTable as BadAgent, Table, literal};
use tenure_settings::raw::{Raw, RawTable, RawValue};

const KEYS: [&str; 16] = [
    "command",
    "fresh",
    "resume",
    "prompt",
    "model",
    "extra",
    ENV,
    ENV_PASS,
    ENV_REMOVE,
    "terminal",
    "timeout",
    "no-output-timeout",
    "activity",
    "output",
    "read",
    ACP,
];
const READ_KEYS: [&str; 8] =
    ["session", "delta", "message", "final", "error", "usage-input", "usage-output", "usage-of"];

/// Returns the descriptions of all CLI agents: the built-in ones and those of the config file. `given` is the file's
/// `agents` table.
pub fn agents(file: &Path, given: &RawTable) -> Described<Agent> {
    Layers::new(file, given).each(|name, table| {
        let is_adapter_alone = table.values.keys().map(String::as_str).eq([ACP]);
        (!is_adapter_alone).then(|| agent(name.clone(), table)).transpose()
    })
}

fn agent(name: AgentId, table: &Table<'_>) -> Result<Agent, BadAgent> {
    table.known(&KEYS)?;
    let missing = |key: &str, what: &str| table.bad(key, format!("it is missing: {what}"));
    if table.values.contains_key(ACP) && !table.values.contains_key("command") {
        let what = format!("write the program of a turn, or put these keys into [{}.{ACP}]", table.key);
        return Err(missing("command", &what));
    }
    let fresh =
        arguments(table, "fresh")?.ok_or_else(|| missing("fresh", "write the arguments of a turn"))?;
    let agent = Agent {
        name,
        command: command(table, "fresh and resume")?,
        fresh,
        resume: if table.text("resume").ok().flatten() == Some("never") {
            None
        } else {
            arguments(table, "resume")?
        },
        prompt: table.word(
            "prompt",
            &[("stdin", PromptChannel::Stdin), ("argument", PromptChannel::Argument)],
            PromptChannel::Stdin,
        )?,
        model: table.text("model")?.map(str::to_owned),
        extra: table.each("extra", table.array("extra")?.unwrap_or_default(), literal)?,
        env: Environment::read(table)?,
        terminal: table.word(
            "terminal",
            &[("pipes", Terminal::Pipes), ("pty", Terminal::Pty)],
            Terminal::Pipes,
        )?,
        limits: TurnLimits {
            timeout: limit(table, "timeout", defaults::AGENT_TURN)?,
            silence: silence(table)?,
            activity: table.word(
                "activity",
                &[("output", Activity::Output), ("cpu", Activity::Cpu)],
                Activity::Output,
            )?,
        },
        output: output(table)?,
    };
    check(&agent, table)?;
    Ok(agent)
}

/// Checks that the keys fit together.
fn check(agent: &Agent, table: &Table<'_>) -> Result<(), BadAgent> {
    let templates = [("fresh", Some(&agent.fresh)), ("resume", agent.resume.as_ref())];
    for (key, arguments) in templates.into_iter().filter_map(|(key, arguments)| Some((key, arguments?))) {
        let holds = |place| arguments.iter().flat_map(Argument::words).any(|word| word.holds(place));
        match (agent.prompt, holds(Place::Prompt)) {
            (PromptChannel::Argument, false) => {
                return Err(table.bad(
                    key,
                    "it has no {prompt}: put it where the prompt goes, or write prompt = \"stdin\"",
                ));
            }
            (PromptChannel::Stdin, true) => {
                return Err(table
                    .bad(key, "it has {prompt}, but the prompt goes to stdin: write prompt = \"argument\""));
            }
            (PromptChannel::Argument, true) | (PromptChannel::Stdin, false) => {}
        }
        if (key == "resume") != holds(Place::Session) {
            return Err(
                table.bad(key, "{session} must be in resume and nowhere else: it is the session to resume")
            );
        }
        if !agent.extra.is_empty() && !arguments.contains(&Argument::Extra) {
            return Err(table.bad(key, format!("it has no {EXTRA}: put it where the arguments of extra go")));
        }
    }
    if agent.terminal == Terminal::Pty && agent.prompt == PromptChannel::Stdin {
        return Err(
            table.bad("terminal", "a pty has no end of input after the prompt: write prompt = \"argument\"")
        );
    }
    let learns = matches!(&agent.output, Output::JsonLines(read) if !read.session.is_empty());
    if agent.resume.is_some() && !learns {
        let why = "the agent's session id cannot be read: write read.session with output = \"json-lines\", or resume = \"never\"";
        return Err(table.bad("resume", why));
    }
    Ok(())
}

fn arguments(table: &Table<'_>, key: &str) -> Result<Option<Vec<Argument>>, BadAgent> {
    let Some(values) = table.array(key)? else { return Ok(None) };
    let one = |raw: &Raw| match &raw.value {
        RawValue::Array(words) => Ok(Argument::Group(table.each(key, words, template)?)),
        RawValue::Text(text) if text == EXTRA => Ok(Argument::Extra),
        _ => Ok(Argument::Word(table.each(key, std::slice::from_ref(raw), template)?.remove(0))),
    };
    values.iter().map(one).collect::<Result<_, _>>().map(Some)
}

fn template(text: &str) -> Result<Template, String> {
    Template::parse(&literal(text)?)
}

fn output(table: &Table<'_>) -> Result<Output, BadAgent> {
    let is_text = table.word("output", &[("text", true), ("json-lines", false)], true)?;
    let below = table.table("read")?;
    below.known(&READ_KEYS)?;
    if is_text {
        // `output = "text"` disables built-in rules; rules of the config file contradict it.
        let own = below.values.iter().find(|(_, raw)| raw.line > 0);
        let why = "rules cannot read plain text: write output = \"json-lines\"";
        return own.map_or(Ok(Output::Text), |(name, _)| Err(below.bad(name, why)));
    }
    let read = read(&below)?;
    if read.last.is_empty() {
        return Err(below.bad(
            "final",
            "it is missing: write a rule for the final text, as in \"result where type=result\"",
        ));
    }
    Ok(Output::JsonLines(Box::new(read)))
}

fn read(table: &Table<'_>) -> Result<Read, BadAgent> {
    let taking = |text: &str| {
        let rule = Rule::parse(text)?;
        let why = || format!("{text:?} has no path: write one before \"where\"");
        if rule.takes() { Ok(rule) } else { Err(why()) }
    };
    let spans = [("step", Span::Step), ("turn", Span::Turn), ("session", Span::Session)];
    Ok(Read {
        session: table.one_or_more("session", taking)?,
        delta: table.one_or_more("delta", taking)?,
        message: table.one_or_more("message", taking)?,
        last: table.one_or_more("final", Rule::parse)?,
        error: table.one_or_more("error", taking)?,
        usage_input: table.one_or_more("usage-input", taking)?,
        usage_output: table.one_or_more("usage-output", taking)?,
        usage_of: table.word("usage-of", &spans, Span::Turn)?,
    })
}
