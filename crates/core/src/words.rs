//! Enumerations whose values are words: the same on the wire, on disk and in settings, and frozen.

/// A word that is not among the allowed ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {text:?}: use one of {valid}")]
pub struct BadWord {
    pub(crate) what: &'static str,
    pub(crate) text: String,
    pub(crate) valid: String,
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident ($what:literal) {
        $($(#[$of_variant:meta])* $variant:ident = $word:literal,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name {
            $($(#[$of_variant])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the value's word.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::words::BadWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|it| it.word() == text).ok_or_else(|| $crate::words::BadWord {
                    what: $what,
                    text: text.chars().take(64).collect(),
                    valid: [$($word,)*].join(", "),
                })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }
    )*};
}

pub(crate) use words;
