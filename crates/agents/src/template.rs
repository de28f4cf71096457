//! Argument templates of an agent's description. Every word becomes exactly one argument, whatever value is filled in,
//! and no shell reads it. Only `{extra}` stands for any number of arguments.

/// Template of one argument, or of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// A single word.
    Word(Template),
    /// Words that are left out together if a placeholder of one of them has no value.
    Group(Vec<Template>),
    /// Additional arguments of the description.
    Extra,
}

/// Word with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Place(Place),
}

/// Placeholder in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Prompt,
    Session,
    Cwd,
    Model,
}

const PLACES: [(&str, Place); 4] =
    [("prompt", Place::Prompt), ("session", Place::Session), ("cwd", Place::Cwd), ("model", Place::Model)];

/// Word that stands for the additional arguments.
pub(crate) const EXTRA: &str = "{extra}";

impl Template {
    /// Parses a word; the error says what to write. Only lower-case letters in braces are a placeholder, so JSON stays
    /// unchanged.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            let (before, from) = rest.split_at(at);
            literal.push_str(before);
            let name = from[1..].split_once('}').map(|(name, _)| name);
            let Some(name) = name.filter(|name| is_place_like(name)) else {
                literal.push('{');
                rest = &from[1..];
                continue;
            };
            let place = PLACES.iter().find(|(its, _)| *its == name).ok_or_else(|| unknown(text, name))?;
            parts.extend((!literal.is_empty()).then(|| Part::Literal(std::mem::take(&mut literal))));
            parts.push(Part::Place(place.1));
            rest = &from[name.len() + 2..];
        }
        literal.push_str(rest);
        parts.extend((!literal.is_empty()).then_some(Part::Literal(literal)));
        Ok(Self(parts))
    }

    /// Returns the word if it has no placeholder.
    pub(crate) fn literal(&self) -> Option<&str> {
        match &self.0[..] {
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    pub(crate) fn holds(&self, place: Place) -> bool {
        self.0.contains(&Part::Place(place))
    }

    /// Returns true if the word begins with this placeholder.
    pub(crate) fn begins_with(&self, place: Place) -> bool {
        self.0.first() == Some(&Part::Place(place))
    }

    /// Returns the argument with all values filled in; `None` if a placeholder has no value.
    pub(crate) fn fill<'v>(&self, value: impl Fn(Place) -> Option<&'v [u8]>) -> Option<Vec<u8>> {
        let mut word = Vec::new();
        for part in &self.0 {
            match part {
                Part::Literal(text) => word.extend_from_slice(text.as_bytes()),
                Part::Place(place) => word.extend_from_slice(value(*place)?),
            }
        }
        Some(word)
    }
}

impl Argument {
    pub(crate) fn words(&self) -> &[Template] {
        match self {
            Argument::Word(word) => std::slice::from_ref(word),
            Argument::Group(words) => words,
            Argument::Extra => &[],
        }
    }
}

fn is_place_like(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase())
}

fn unknown(text: &str, name: &str) -> String {
    if name == "extra" {
        return format!("{text:?}: {EXTRA} stands for several arguments: write it as a separate word");
    }
    format!(
        "{text:?}: unknown placeholder {{{name}}}: use {{prompt}}, {{session}}, {{cwd}}, {{model}} or {EXTRA}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Option<String> {
        let value = |place| match place {
            Place::Prompt => Some(&b"{session} $(x) a b"[..]),
            Place::Session => Some(&b"S"[..]),
            Place::Cwd => Some(&b"/w"[..]),
            Place::Model => None,
        };
        Template::parse(text).unwrap().fill(value).map(|word| String::from_utf8(word).unwrap())
    }

    #[test]
    fn a_word_is_filled_once_and_stays_one_word() {
        assert_eq!(filled("--prompt={prompt}").as_deref(), Some("--prompt={session} $(x) a b"));
        assert_eq!(filled("{cwd}/{session}{session}").as_deref(), Some("/w/SS"));
        assert_eq!(filled("").as_deref(), Some(""));
        assert_eq!(filled("--model={model}"), None);
    }

    #[test]
    fn braces_that_hold_no_name_stay_as_they_are() {
        for text in ["{", "}", "{}", "{\"a\":1}", "{{", "{A}", "{a b}", "{x_y}", "x{", "{é}"] {
            assert_eq!(filled(text).as_deref(), Some(text));
        }
        assert_eq!(filled("{{session}}").as_deref(), Some("{S}"));
    }

    #[test]
    fn an_unknown_place_is_refused_with_those_there_are() {
        let text = Template::parse("--x={promt}").unwrap_err();
        assert!(
            text.contains("unknown placeholder {promt}: use {prompt}, {session}, {cwd}, {model}"),
            "{text}"
        );
        assert!(Template::parse("--x={extra}").unwrap_err().contains("a separate word"));
    }
}
