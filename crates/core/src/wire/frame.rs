//! Frames: two lengths, a head, a body.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The bytes before a frame's head.
pub const PREFIX: usize = 8;
/// The longest head.
pub const MAX_HEAD: usize = 1 << 20;
/// The longest body: an environment and an argument list as large as the system takes.
pub const MAX_BODY: usize = 16 << 20;

/// A frame that cannot be used. The connection it came on is closed.
#[derive(Debug, thiserror::Error)]
pub enum BadFrame {
    /// A length beyond what is ever sent.
    #[error("a frame of {head} + {body} bytes is more than this wire carries")]
    TooLarge {
        /// The head's length.
        head: usize,
        /// The body's.
        body: usize,
    },
    /// The head is not understood.
    #[error("a frame's head is not understood: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// A frame ready to be sent.
pub fn encode<T: Serialize>(head: &T, body: &[u8]) -> Vec<u8> {
    let head = serde_json::to_vec(head).expect("a message has no map with keys that are not strings");
    let mut frame = Vec::with_capacity(PREFIX + head.len() + body.len());
    for part in [head.len(), body.len()] {
        frame.extend_from_slice(&u32::try_from(part).unwrap_or(u32::MAX).to_le_bytes());
    }
    frame.extend_from_slice(&head);
    frame.extend_from_slice(body);
    frame
}

/// A frame's head, its body, and how many bytes it took.
pub type Frame<'a, T> = (T, &'a [u8], usize);

/// Takes the first whole frame off `bytes`. `None`: more bytes are needed.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<Option<Frame<'_, T>>, BadFrame> {
    let Some(prefix) = bytes.first_chunk::<PREFIX>() else { return Ok(None) };
    let [h0, h1, h2, h3, b0, b1, b2, b3] = *prefix;
    let head = u32::from_le_bytes([h0, h1, h2, h3]) as usize;
    let body = u32::from_le_bytes([b0, b1, b2, b3]) as usize;
    if head > MAX_HEAD || body > MAX_BODY {
        return Err(BadFrame::TooLarge { head, body });
    }
    let total = PREFIX + head + body;
    let Some(frame) = bytes.get(PREFIX..total) else { return Ok(None) };
    Ok(Some((serde_json::from_slice(&frame[..head])?, &frame[head..], total)))
}

#[cfg(test)]
mod tests {
    use super::super::KeeperRequest;
    use super::*;

    #[test]
    fn a_frame_reads_back_as_sent() {
        let ask = KeeperRequest::Stdin { offset: 7, eof: true };
        let frame = encode(&ask, b"bytes");
        let (head, body, taken) = decode::<KeeperRequest>(&frame).unwrap().unwrap();
        assert_eq!((head, body, taken), (ask, &b"bytes"[..], frame.len()));
    }

    #[test]
    fn a_frame_cut_anywhere_waits_for_more() {
        let frame = encode(&KeeperRequest::Status, b"body");
        for len in 0..frame.len() {
            assert!(decode::<KeeperRequest>(&frame[..len]).unwrap().is_none(), "{len}");
        }
    }

    #[test]
    fn a_frame_that_claims_too_much_is_refused_before_it_is_stored() {
        assert!(matches!(decode::<KeeperRequest>(&[0xff; 8]), Err(BadFrame::TooLarge { .. })));
    }
}
