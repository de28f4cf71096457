//! Reads descriptions: the built-in ones, with the tables `[agents.NAME]` of `config.toml` laid over them key by key.

use crate::agent::{Agent, Output, PromptGoes, Read, Silence, Span, Terminal};
use crate::rule::Rule;
use crate::template::{Argument, EXTRA, Place, Template};
use std::collections::BTreeMap;
use std::path::Path;
use tenure_core::defaults;
use tenure_core::limits::Activity;
use tenure_core::session::AgentId;
use tenure_settings::described::{BadTable as BadAgent, Length, Table, literal, variable};
use tenure_settings::raw::{self, Raw, RawTable, RawValue};

/// The built-in descriptions by name, as they could be written in `config.toml`.
pub const BUILT_IN: [(&str, &str); 4] = [
    ("claude", include_str!("builtin/claude.toml")),
    ("codex", include_str!("builtin/codex.toml")),
    ("gemini", include_str!("builtin/gemini.toml")),
    ("opencode", include_str!("builtin/opencode.toml")),
];

const KEYS: [&str; 15] = [
    "command",
    "fresh",
    "resume",
    "prompt",
    "model",
    "extra",
    "env",
    "env-pass",
    "env-remove",
    "terminal",
    "timeout",
    "no-output-timeout",
    "activity",
    "output",
    "read",
];
const READ_KEYS: [&str; 8] =
    ["session", "delta", "message", "final", "error", "usage-input", "usage-output", "usage-of"];

/// Every agent there is: the built-in ones and those that the file describes. `given` are its tables below `agents`.
pub fn agents(file: &Path, given: &RawTable) -> Result<BTreeMap<AgentId, Agent>, BadAgent> {
    let mut all = BTreeMap::new();
    for (name, text) in BUILT_IN {
        all.insert(
            name.to_owned(),
            (0, without_lines(raw::parse(Path::new(name), text).unwrap_or_default())),
        );
    }
    let root = Table { file, key: "agents".to_owned(), line: 1, values: given };
    for (name, raw) in given {
        let RawValue::Table(over) = &raw.value else {
            return Err(
                root.bad(name, format!("this is {}: write a table, [agents.{name}]", raw.value.kind()))
            );
        };
        let (line, table) = all.entry(name.clone()).or_default();
        *line = raw.line;
        lay_over(table, over);
    }
    let describe = |(name, (line, values)): (&String, &(usize, RawTable))| {
        let id: AgentId =
            name.parse().map_err(|why: tenure_core::session::BadAgent| root.bad(name, why.to_string()))?;
        let table = Table { file, key: format!("agents.{name}"), line: *line, values };
        Ok((id.clone(), agent(id, &table)?))
    };
    all.iter().map(describe).collect()
}

/// What is built in has no line in the user's file.
fn without_lines(table: RawTable) -> RawTable {
    let strip = |raw: Raw| {
        let value = match raw.value {
            RawValue::Table(table) => RawValue::Table(without_lines(table)),
            other => other,
        };
        Raw { line: 0, value }
    };
    table.into_iter().map(|(name, raw)| (name, strip(raw))).collect()
}

fn lay_over(base: &mut RawTable, over: &RawTable) {
    for (name, raw) in over {
        match (base.get_mut(name), &raw.value) {
            (Some(Raw { line, value: RawValue::Table(below) }), RawValue::Table(table)) => {
                *line = raw.line;
                lay_over(below, table);
            }
            _ => drop(base.insert(name.clone(), raw.clone())),
        }
    }
}

fn agent(name: AgentId, table: &Table<'_>) -> Result<Agent, BadAgent> {
    table.known(&KEYS)?;
    let missing = |key: &str, what: &str| table.bad(key, format!("it is missing: {what}"));
    let fresh =
        arguments(table, "fresh")?.ok_or_else(|| missing("fresh", "write the arguments of a turn"))?;
    let agent = Agent {
        name,
        command: command(table)?,
        fresh,
        resume: if table.text("resume").ok().flatten() == Some("never") {
            None
        } else {
            arguments(table, "resume")?
        },
        prompt: table.word(
            "prompt",
            &[("stdin", PromptGoes::Stdin), ("argument", PromptGoes::Argument)],
            PromptGoes::Stdin,
        )?,
        model: table.text("model")?.map(str::to_owned),
        extra: table.each("extra", table.array("extra")?.unwrap_or_default(), literal)?,
        env: table.table("env")?.variables()?,
        env_pass: table.each("env-pass", table.array("env-pass")?.unwrap_or_default(), variable)?,
        env_remove: table.each("env-remove", table.array("env-remove")?.unwrap_or_default(), variable)?,
        terminal: table.word(
            "terminal",
            &[("pipes", Terminal::Pipes), ("pty", Terminal::Pty)],
            Terminal::Pipes,
        )?,
        timeout: match table.length("timeout")? {
            Length::NotGiven => Some(defaults::AGENT_TURN),
            Length::Off => None,
            Length::Of(limit) => Some(limit),
        },
        silence: match table.length("no-output-timeout")? {
            Length::NotGiven => Silence::Default,
            Length::Off => Silence::Unlimited,
            Length::Of(limit) => Silence::After(limit),
        },
        activity: table.word(
            "activity",
            &[("output", Activity::Output), ("cpu", Activity::Cpu)],
            Activity::Output,
        )?,
        output: output(table)?,
    };
    check(&agent, table)?;
    Ok(agent)
}

/// What no single key can tell.
fn check(agent: &Agent, table: &Table<'_>) -> Result<(), BadAgent> {
    let templates = [("fresh", Some(&agent.fresh)), ("resume", agent.resume.as_ref())];
    for (key, arguments) in templates.into_iter().filter_map(|(key, arguments)| Some((key, arguments?))) {
        let holds = |place| arguments.iter().flat_map(Argument::words).any(|word| word.holds(place));
        match (agent.prompt, holds(Place::Prompt)) {
            (PromptGoes::Argument, false) => {
                return Err(table.bad(
                    key,
                    "it has no {prompt}: put it where the prompt goes, or write prompt = \"stdin\"",
                ));
            }
            (PromptGoes::Stdin, true) => {
                return Err(table
                    .bad(key, "it has {prompt}, but the prompt goes to stdin: write prompt = \"argument\""));
            }
            (PromptGoes::Argument, true) | (PromptGoes::Stdin, false) => {}
        }
        if (key == "resume") != holds(Place::Session) {
            return Err(table
                .bad(key, "{session} belongs into resume, and only there: it is the session to go on with"));
        }
        if !agent.extra.is_empty() && !arguments.contains(&Argument::Extra) {
            return Err(
                table.bad(key, format!("there are extra arguments and no {EXTRA}: put it where they go"))
            );
        }
    }
    if agent.terminal == Terminal::Pty && agent.prompt == PromptGoes::Stdin {
        return Err(
            table.bad("terminal", "on a pty the prompt would have no end: write prompt = \"argument\"")
        );
    }
    if let Some(name) = agent.env_remove.iter().find(|name| agent.env.contains_key(*name)) {
        return Err(
            table.bad("env-remove", format!("{name} is set in env as well: write it in one of the two"))
        );
    }
    let learns = matches!(&agent.output, Output::JsonLines(read) if !read.session.is_empty());
    if agent.resume.is_some() && !learns {
        let why = "nothing says how to learn the session: write read.session with output = \"json-lines\", or resume = \"never\"";
        return Err(table.bad("resume", why));
    }
    Ok(())
}

fn command(table: &Table<'_>) -> Result<String, BadAgent> {
    let text = table.text("command")?.unwrap_or_default();
    let is_program = !text.is_empty() && !text.contains('\0') && !text.starts_with('-');
    if is_program && (!text.contains('/') || text.starts_with('/')) {
        return Ok(text.to_owned());
    }
    let why =
        "write the program's name or its absolute path, without arguments: those go to fresh and resume";
    Err(table.bad("command", format!("{text:?} is no program: {why}")))
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
        // What is built in may be switched off like this; what somebody wrote is meant.
        let own = below.values.iter().find(|(_, raw)| raw.line > 0);
        let why = "there is nothing to look for in plain text: write output = \"json-lines\"";
        return own.map_or(Ok(Output::Text), |(name, _)| Err(below.bad(name, why)));
    }
    let read = read(&below)?;
    if read.last.is_empty() {
        return Err(below.bad(
            "final",
            "it is missing: say where the final text stands, as in \"result where type=result\"",
        ));
    }
    Ok(Output::JsonLines(Box::new(read)))
}

fn read(table: &Table<'_>) -> Result<Read, BadAgent> {
    let taking = |text: &str| {
        let rule = Rule::parse(text)?;
        let why = || format!("{text:?} takes nothing: write a path before where");
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
