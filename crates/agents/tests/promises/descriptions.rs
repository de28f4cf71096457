//! Descriptions of CLI agents: their keys, the merge over built-in ones, and the errors.

use crate::{absolute, agent, agents, refusal};
use tenure_agents::{Output, PromptChannel, Terminal};

const MINE: &str = "[agents.mine]\ncommand = 'mine'\nfresh = ['-p']\n";

#[test]
fn the_built_in_agents_are_there_and_can_be_resumed() {
    let all = agents("").unwrap();
    let names: Vec<_> = all.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["claude", "codex", "gemini", "opencode"]);
    for agent in all {
        assert!(agent.resume.is_some() && agent.prompt == PromptChannel::Stdin, "{agent:?}");
        assert_eq!(agent.command, agent.name.as_str());
        assert!(matches!(agent.output, Output::JsonLines(_)));
    }
}

#[test]
fn a_built_in_agent_is_overridden_key_by_key() {
    let plain = agent("claude", "");
    let path = absolute();
    let text = format!("[agents.claude]\ncommand = '{path}'\nenv.A = '1'\nread.session = 'id'");
    let mine = agent("claude", &text);
    assert_eq!(mine.command, path);
    assert_eq!(
        (&mine.fresh, &mine.resume, mine.limits.timeout),
        (&plain.fresh, &plain.resume, plain.limits.timeout)
    );
    let (Output::JsonLines(mine), Output::JsonLines(plain)) = (mine.output, plain.output) else { panic!() };
    assert_ne!(mine.session, plain.session);
    assert_eq!((mine.delta, mine.last, mine.usage_of), (plain.delta, plain.last, plain.usage_of));
}

#[test]
fn a_built_in_agent_can_be_read_as_plain_text() {
    let mine = agent("gemini", "[agents.gemini]\noutput = 'text'\nresume = 'never'\nfresh = []");
    assert_eq!((mine.output, mine.resume, mine.fresh), (Output::Text, None, vec![]));
}

#[test]
fn a_new_agent_needs_little() {
    let mine = agent("mine", MINE);
    assert_eq!((mine.resume.clone(), mine.terminal, mine.output), (None, Terminal::Pipes, Output::Text));
    let pty = format!("{MINE}terminal = 'pty'\nprompt = 'argument'").replace("'-p'", "'{prompt}'");
    assert_eq!(agent("mine", &pty).terminal, Terminal::Pty);
}

/// The text after `MINE`, and the error.
const REFUSED: [(&str, &str); 27] = [
    (
        "promt = 'stdin'",
        "/c/config.toml:4: unknown setting \"agents.mine.promt\": use one of command, fresh, resume",
    ),
    (
        "read.sesion = 'x'",
        "/c/config.toml:4: unknown setting \"agents.mine.read.sesion\": use one of session, delta",
    ),
    (
        "prompt = 'file'",
        "agents.mine.prompt (from /c/config.toml:4): unknown value \"file\": use stdin or argument",
    ),
    ("prompt = 3", "agents.mine.prompt (from /c/config.toml:4): must be a text, not a number"),
    ("prompt = 'argument'", "agents.mine.fresh (from /c/config.toml:3): it has no {prompt}"),
    ("terminal = 'pty'", "a pty has no end of input after the prompt"),
    ("timeout = '1 hour'", "agents.mine.timeout (from /c/config.toml:4): \"1 hour\" is not a duration"),
    ("timeout = 60", "must be a text, not a number"),
    ("no-output-timeout = '5'", "agents.mine.no-output-timeout"),
    ("activity = 'disk'", "use output or cpu"),
    ("extra = ['--x']", "agents.mine.fresh (from /c/config.toml:3): it has no {extra}"),
    ("extra = '--x'", "must be an array of texts, not a text"),
    ("env = ['A']", "agents.mine.env (from /c/config.toml:4): must be a table, not an array"),
    ("env.A = 1", "agents.mine.env.A (from /c/config.toml:4): must be a text, not a number"),
    ("env.'A=B' = '1'", "is not a variable name"),
    ("env.TENURE_STATE = '/x'", "TENURE_STATE is reserved for Tenure"),
    ("env.A = \"\\u0000\"", "NUL"),
    (
        "env.A = '1'\nenv-remove = ['A']",
        "agents.mine.env-remove (from /c/config.toml:5): A is set in env as well",
    ),
    (
        "resume = ['-r', '{session}']",
        "agents.mine.resume (from /c/config.toml:4): the agent's session id cannot be read",
    ),
    ("resume = ['-r']", "{session} must be in resume and nowhere else"),
    ("resume = 'no'", "must be an array of texts, not a text"),
    (
        "resume = [\n '-r',\n '{sesion}']",
        "agents.mine.resume (from /c/config.toml:6): \"{sesion}\": unknown placeholder {sesion}",
    ),
    ("read.final = 'x'", "agents.mine.read.final (from /c/config.toml:4): rules cannot read plain text"),
    ("output = 'json-lines'", "agents.mine.read.final (from /c/config.toml:1): it is missing"),
    (
        "output = 'json-lines'\nread.final = 'a b'",
        "agents.mine.read.final (from /c/config.toml:5): \"a b\" is not a rule",
    ),
    ("output = 'json-lines'\nread.final = 'a'\nread.delta = 'where x=1'", "has no path: write one before"),
    ("output = 'json-lines'\nread = { final = 'a', usage-of = 'day' }", "use step or turn or session"),
];

#[test]
fn what_cannot_be_is_refused_with_its_key_its_line_and_what_to_write() {
    for (text, expected) in REFUSED {
        let refused = refusal(&format!("{MINE}{text}"));
        assert!(refused.contains(expected), "{text}\n  expected {expected}\n  was      {refused}");
    }
}

#[test]
fn an_agent_is_a_table_with_a_name_a_command_and_arguments() {
    for (text, expected) in [
        (
            "agents.mine = 3",
            "agents.mine (from /c/config.toml:1): must be a table, [agents.mine], not a number",
        ),
        (
            "\n[agents.'a b']\ncommand = 'x'",
            "agents.a b (from /c/config.toml:2): \"a b\" is not an agent name",
        ),
        ("[agents.mine]\nfresh = []", "agents.mine.command (from /c/config.toml:1): \"\" is not a program"),
        ("[agents.mine]\ncommand = 'x'", "agents.mine.fresh (from /c/config.toml:1): it is missing"),
        (
            "[agents.mine]\ncommand = './x'\nfresh = []",
            "\"./x\" is not a program: write the program's name or its absolute path",
        ),
        ("[agents.mine]\ncommand = '-x'\nfresh = []", "is not a program"),
        (
            "[agents.mine]\ncommand = 'x'\nfresh = ['{session}']",
            "{session} must be in resume and nowhere else",
        ),
        (
            "[agents.mine]\ncommand = 'x'\nfresh = ['{prompt}']",
            "the prompt goes to stdin: write prompt = \"argument\"",
        ),
        (
            "[agents.mine]\ncommand = 'x'\nfresh = [['a', ['b']]]",
            "agents.mine.fresh (from /c/config.toml:3): must be a text, not an array",
        ),
        ("[agents.mine]\ncommand = 'x'\nfresh = [3]", "must be a text, not a number"),
        // The built-in templates do not say where it would go: told by the line that made it needed.
        (
            "\n[agents.claude]\nprompt = 'argument'",
            "agents.claude.fresh (from /c/config.toml:2): it has no {prompt}",
        ),
        (
            "[agents.claude]\noutput = 'text'",
            "agents.claude.resume (from /c/config.toml:1): the agent's session id cannot be read",
        ),
    ] {
        let refused = refusal(text);
        assert!(refused.contains(expected), "{text}\n  expected {expected}\n  was      {refused}");
    }
}
