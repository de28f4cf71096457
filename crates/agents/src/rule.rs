//! Rule that finds a value in a JSON line: `PATH where FIELD=VALUE FIELD=VALUE…`. Paths are keys and indices joined by
//! dots. The value `null` matches a field that is null or absent.

use serde_json::Value;

/// Path of a value, and conditions on the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    take: Vec<String>,
    when: Vec<(Vec<String>, String)>,
}

impl Rule {
    /// Parses a rule; the error says what to write.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let malformed = || {
            format!(
                "{text:?} is not a rule: write a path, or PATH where FIELD=VALUE …, as in \"item.text where type=item\""
            )
        };
        let mut words = text.split_whitespace().peekable();
        let take = match words.peek() {
            None => return Err(malformed()),
            Some(&"where") => Vec::new(),
            Some(_) => path(words.next().unwrap_or_default()).ok_or_else(malformed)?,
        };
        match words.next() {
            None => return Ok(Self { take, when: Vec::new() }),
            Some("where") if words.peek().is_some() => {}
            Some(_) => return Err(malformed()),
        }
        let condition = |word: &str| {
            let (field, value) = word.split_once('=')?;
            path(field).zip((!value.is_empty()).then(|| value.to_owned()))
        };
        let when = words.map(|word| condition(word).ok_or_else(malformed)).collect::<Result<_, _>>()?;
        Ok(Self { take, when })
    }

    /// Returns true if the rule has a path. A rule without one only matches lines.
    pub(crate) fn takes(&self) -> bool {
        !self.take.is_empty()
    }

    /// Returns true if the line meets the conditions.
    pub(crate) fn is_about(&self, line: &Value) -> bool {
        self.when.iter().all(|(field, wanted)| is(find(line, field), wanted))
    }

    fn value<'v>(&self, line: &'v Value) -> Option<&'v Value> {
        if self.takes() && self.is_about(line) { find(line, &self.take) } else { None }
    }

    /// Returns the value as text: an array of strings becomes lines, other values their JSON.
    pub(crate) fn text(&self, line: &Value) -> Option<String> {
        match self.value(line)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            Value::Array(parts) if parts.iter().all(Value::is_string) => {
                let parts: Vec<_> = parts.iter().filter_map(Value::as_str).collect();
                (!parts.is_empty()).then(|| parts.join("\n"))
            }
            other => Some(other.to_string()),
        }
    }

    /// Returns the value if it is a number.
    pub(crate) fn number(&self, line: &Value) -> Option<u64> {
        self.value(line)?.as_u64()
    }
}

fn path(text: &str) -> Option<Vec<String>> {
    let parts: Vec<_> = text.split('.').map(str::to_owned).collect();
    let is_path = !text.contains('=') && parts.iter().all(|part| !part.is_empty());
    is_path.then_some(parts)
}

fn find<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, part| match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

fn is(found: Option<&Value>, wanted: &str) -> bool {
    match found {
        None | Some(Value::Null) => wanted == "null",
        Some(Value::String(text)) => text == wanted,
        Some(Value::Bool(on)) => on.to_string() == wanted,
        Some(Value::Number(number)) => number.to_string() == wanted,
        Some(Value::Array(_) | Value::Object(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn found(rule: &str, line: &Value) -> Option<String> {
        Rule::parse(rule).unwrap().text(line)
    }

    #[test]
    fn a_rule_finds_its_text_in_the_lines_it_is_about() {
        let line = json!({"type": "a", "n": 3, "ok": true, "gone": null, "x": {"y": [{"z": "found"}]}, "l": ["1", "2"]});
        assert_eq!(found("x.y.0.z", &line).as_deref(), Some("found"));
        assert_eq!(
            found("x.y.0.z where type=a n=3 ok=true gone=null absent=null", &line).as_deref(),
            Some("found")
        );
        assert_eq!(found("l", &line).as_deref(), Some("1\n2"));
        assert_eq!(found("x.y.0", &line).as_deref(), Some("{\"z\":\"found\"}"));
        for rule in [
            "x.y.1.z",
            "x.y.z",
            "gone",
            "x.y.0.z where type=b",
            "type.a",
            "n where ok=null",
            "n where x=null",
        ] {
            assert_eq!(found(rule, &line), None, "{rule}");
        }
        assert_eq!(Rule::parse("n").unwrap().number(&line), Some(3));
        assert_eq!(Rule::parse("n where ok=false").unwrap().number(&line), None);
        assert_eq!(found("l", &json!({"l": []})), None);
        assert_eq!(found("t", &json!({"t": ""})).as_deref(), Some(""));
    }

    #[test]
    fn a_rule_without_a_path_names_lines_only() {
        let rule = Rule::parse("where type=a").unwrap();
        assert!(
            !rule.takes() && rule.is_about(&json!({"type": "a"})) && !rule.is_about(&json!({"type": "b"}))
        );
        assert_eq!(rule.text(&json!({"type": "a"})), None);
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in
            ["", " ", "where", "a where", "a b", "a=b", "a..b", ".a", "a where b", "a where =c", "a where b="]
        {
            assert!(Rule::parse(text).is_err(), "{text:?}");
        }
    }
}
