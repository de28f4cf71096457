//! What a webhook's calls are signed with, as Standard Webhooks wants it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What a secret that is written in base64 begins with.
const PREFIX: &str = "whsec_";
const SHORTEST: usize = 16;
const LONGEST: usize = 512;
/// A secret of the longest kind in base64, with its prefix and a line's end.
const FILE_BYTES: u64 = 1024;

/// Where the secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    /// Here.
    Given(Signer),
    /// In this file, which is read at every call: a new secret holds at once.
    File(PathBuf),
}

/// Signs with a secret, and does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Signer(Vec<u8>);

/// A secret that cannot be used. It is not told.
#[derive(Debug, thiserror::Error)]
pub enum BadSecret {
    /// It claims to be base64.
    #[error("what follows {PREFIX} is not base64: copy the secret once more")]
    NotBase64,
    /// Too short to be one, or too long.
    #[error(
        "the secret has {0} bytes: write {SHORTEST} to {LONGEST}, as in {PREFIX} with 24 random bytes in base64"
    )]
    Length(usize),
    /// The file with it.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Secret {
    /// What signs, now.
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

/// A file's bytes without its last line's end. Whatever is no file could keep us waiting.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    bytes.truncate(end);
    Ok(bytes)
}

impl Signer {
    /// Takes `whsec_` and base64, or any other bytes as they are.
    pub fn new(secret: &[u8]) -> Result<Self, BadSecret> {
        let key = match secret.strip_prefix(PREFIX.as_bytes()) {
            Some(rest) => STANDARD.decode(rest).map_err(|_| BadSecret::NotBase64)?,
            None => secret.to_vec(),
        };
        if (SHORTEST..=LONGEST).contains(&key.len()) {
            Ok(Self(key))
        } else {
            Err(BadSecret::Length(key.len()))
        }
    }

    /// The value of `webhook-signature` for a message.
    pub fn sign(&self, id: &str, timestamp: u64, body: &[u8]) -> String {
        // A key of any length is one; the error cannot be.
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
