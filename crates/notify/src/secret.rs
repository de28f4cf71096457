//! Secrets and signatures of webhook calls, as in Standard Webhooks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Prefix of a secret in base64.
const PREFIX: &str = "whsec_";
const MIN_BYTES: usize = 16;
const MAX_BYTES: usize = 512;
/// Maximum length of a secret's file: base64 with prefix and newline.
const FILE_BYTES: u64 = 1024;

/// A webhook's secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    /// Given in the configuration.
    Given(Signer),
    /// In a file that is read for every call, so that a new secret is used at once.
    File(PathBuf),
}

/// Signs messages with a secret, and never shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Signer(Vec<u8>);

/// Error for an unusable secret. The text does not contain it.
#[derive(Debug, thiserror::Error)]
pub enum BadSecret {
    /// The part after the prefix is not base64.
    #[error("the part after {PREFIX} is not base64: copy the secret again")]
    NotBase64,
    /// The secret is too short or too long.
    #[error(
        "the secret has {0} bytes: use {MIN_BYTES} to {MAX_BYTES}, for example {PREFIX} with 24 random bytes in base64"
    )]
    Length(usize),
    /// The secret's file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl Secret {
    /// Returns the signer for the current secret.
    pub fn signer(&self) -> Result<Signer, BadSecret> {
        match self {
            Secret::Given(signer) => Ok(signer.clone()),
            Secret::File(path) => {
                let unreadable = |source| BadSecret::Unreadable { path: path.clone(), source };
                Signer::new(&read(path).map_err(unreadable)?)
            }
        }
    }
}

/// Reads a file without its last newline. Only regular files, because reading others may block.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    bytes.truncate(end);
    Ok(bytes)
}

impl Signer {
    /// Reads a secret: `whsec_` and base64, or any other bytes as they are.
    pub fn new(secret: &[u8]) -> Result<Self, BadSecret> {
        let key = match secret.strip_prefix(PREFIX.as_bytes()) {
            Some(rest) => STANDARD.decode(rest).map_err(|_| BadSecret::NotBase64)?,
            None => secret.to_vec(),
        };
        if (MIN_BYTES..=MAX_BYTES).contains(&key.len()) {
            Ok(Self(key))
        } else {
            Err(BadSecret::Length(key.len()))
        }
    }

    /// Returns the value of the header `webhook-signature` for a message.
    pub fn sign(&self, id: &str, timestamp: u64, body: &[u8]) -> String {
        // HMAC accepts keys of any length, so this cannot fail.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return String::new() };
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(***)")
    }
}
