//! Reads the tables `[channels.NAME]` of `config.toml`.

use crate::channel::{BadName, Channel, ChannelName, Command, Listeners, Target, Webhook};
use crate::secret::{Secret, Signer};
use crate::url::Url;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf, is_separator};
use std::time::Duration;
use tenure_core::defaults;
use tenure_settings::described::{BadTable, Length, Table, literal};
use tenure_settings::raw::{RawTable, RawValue};

const WEBHOOK_KEYS: [&str; 5] = ["webhook", "secret", "secret-file", "timeout", "allow-private"];
const COMMAND_KEYS: [&str; 4] = ["command", "cwd", "env", "timeout"];
const EVENT_KEYS: [&str; 2] = ["events", "timeout"];

/// Maximum time limit of one attempt, because other notices wait for it.
const MAX_TIMEOUT: Duration = Duration::from_mins(5);

/// Reads the channels of a configuration file, by name. An invalid channel does not affect the others.
pub fn channels(file: &Path, given: &RawTable) -> BTreeMap<String, Result<Channel, BadTable>> {
    given.keys().map(|name| (name.clone(), channel(file, given, name))).collect()
}

fn channel(file: &Path, given: &RawTable, name: &str) -> Result<Channel, BadTable> {
    let root = Table { file, key: "channels".to_owned(), line: 1, values: given };
    let id: ChannelName = name.parse().map_err(|why: BadName| root.bad(name, why.to_string()))?;
    let raw = &given[name];
    let RawValue::Table(values) = &raw.value else {
        let why = format!("must be a table, [channels.{name}], not {}", raw.value.kind());
        return Err(root.bad(name, why));
    };
    let table = Table { file, key: format!("channels.{name}"), line: raw.line, values };
    Ok(Channel { name: id, target: target(&table)? })
}

fn target(table: &Table<'_>) -> Result<Target, BadTable> {
    let has = |key| table.values.contains_key(key);
    match (has("webhook"), has("command"), has("events")) {
        (true, false, false) => webhook(table).map(Target::Webhook),
        (false, true, false) => command(table).map(Target::Command),
        (false, false, true) => events(table).map(Target::Events),
        (true, true, _) => {
            Err(table.bad("command", "a channel cannot have both webhook and command: remove one"))
        }
        (true, false, true) | (false, true, true) => {
            Err(table
                .bad("events", "a channel cannot have events together with webhook or command: remove one"))
        }
        (false, false, false) => {
            let why = "the channel has no receiver: write webhook = \"https://…\", command = [\"program\", \"argument\"] or \
                       events = true";
            Err(table.bad("webhook", why))
        }
    }
}

fn events(table: &Table<'_>) -> Result<Listeners, BadTable> {
    table.known(&EVENT_KEYS)?;
    if !table.switch("events", false)? {
        return Err(table.bad("events", "events cannot be false: write true, or remove the channel"));
    }
    Ok(Listeners { timeout: limit(table, defaults::NOTICE_COMMAND_TIMEOUT)? })
}

fn webhook(table: &Table<'_>) -> Result<Webhook, BadTable> {
    table.known(&WEBHOOK_KEYS)?;
    let bad = |why: String| table.bad("webhook", why);
    let url =
        Url::parse(table.text("webhook")?.unwrap_or_default()).map_err(|error| bad(error.to_string()))?;
    let allow_private = table.switch("allow-private", false)?;
    url.check(allow_private).map_err(bad)?;
    let timeout = limit(table, defaults::WEBHOOK_TIMEOUT)?;
    Ok(Webhook { url, secret: secret(table)?, timeout, allow_private })
}

fn secret(table: &Table<'_>) -> Result<Option<Secret>, BadTable> {
    match (table.text("secret")?, table.text("secret-file")?) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => {
            Err(table.bad("secret-file", "a webhook cannot have both secret and secret-file: remove one"))
        }
        (Some(secret), None) => {
            let signer =
                Signer::new(secret.as_bytes()).map_err(|error| table.bad("secret", error.to_string()))?;
            Ok(Some(Secret::Given(signer)))
        }
        (None, Some(path)) => Ok(Some(Secret::File(path_of(table, "secret-file", path)?))),
    }
}

fn command(table: &Table<'_>) -> Result<Command, BadTable> {
    table.known(&COMMAND_KEYS)?;
    let argv = table.each("command", table.array("command")?.unwrap_or_default(), literal)?;
    let program = argv.first().map(String::as_str).unwrap_or_default();
    let is_program = !program.is_empty() && !program.starts_with('-');
    if !is_program || (program.contains(is_separator) && !Path::new(program).is_absolute()) {
        let why = "write its name or absolute path, then its arguments, without a shell";
        return Err(table.bad("command", format!("{program:?} is not a program: {why}")));
    }
    let cwd = table.text("cwd")?.map(|path| path_of(table, "cwd", path)).transpose()?;
    let env = table.table("env")?.variables()?;
    Ok(Command { argv, cwd, env, timeout: limit(table, defaults::NOTICE_COMMAND_TIMEOUT)? })
}

/// Returns an absolute path. A relative one begins at the directory of the configuration file.
fn path_of(table: &Table<'_>, key: &str, text: &str) -> Result<PathBuf, BadTable> {
    if text.is_empty() || text.starts_with('~') || text.contains('\0') {
        let why = format!("{text:?} is not a path: use an absolute path, or one relative to this file");
        return Err(table.bad(key, why));
    }
    Ok(table.file.parent().unwrap_or(Path::new("/")).join(text))
}

fn limit(table: &Table<'_>, otherwise: Duration) -> Result<Duration, BadTable> {
    match table.length("timeout")? {
        Length::NotGiven => Ok(otherwise),
        Length::Of(limit) if limit <= MAX_TIMEOUT => Ok(limit),
        Length::Of(_) | Length::Off => Err(table.bad("timeout", "the maximum is 5m: write a shorter time")),
    }
}
