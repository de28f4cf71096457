//! The arguments of an agent as its description writes them. Every word becomes one argument, whatever is put into it;
//! no shell reads them. Only `{extra}` stands for as many arguments as there are.

/// One argument, or several that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// One word.
    Word(Template),
    /// Words that are left out together where one of them would have nothing to hold.
    Group(Vec<Template>),
    /// The description's own further arguments.
    Extra,
}

/// A word with places to fill in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Place(Place),
}

/// What a word can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Prompt,
    Session,
    Cwd,
    Model,
}

const PLACES: [(&str, Place); 4] =
    [("prompt", Place::Prompt), ("session", Place::Session), ("cwd", Place::Cwd), ("model", Place::Model)];

/// The word that stands for the further arguments.
pub(crate) const EXTRA: &str = "{extra}";

impl Template {
    /// Reads a word; the error says what to write. Only lower-case letters in braces are a place: JSON stays as it is.
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

    /// Whether what is put into it comes first in the argument.
    pub(crate) fn begins_with(&self, place: Place) -> bool {
        self.0.first() == Some(&Part::Place(place))
    }

    /// The argument; `None` where there is nothing for one of its places.
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
        return format!("{text:?}: {EXTRA} stands for several arguments: write it as a word of its own");
    }
    format!(
        "{text:?}: there is no {{{name}}}: there are {{prompt}}, {{session}}, {{cwd}}, {{model}} and {EXTRA}"
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
            text.contains("there is no {promt}: there are {prompt}, {session}, {cwd}, {model}"),
            "{text}"
        );
        assert!(Template::parse("--x={extra}").unwrap_err().contains("a word of its own"));
    }
}
