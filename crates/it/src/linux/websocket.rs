//! A WebSocket client without a library.

use crate::api::{Api, Wire};

/// A WebSocket.
#[derive(Debug)]
pub struct WebSocket {
    wire: Wire,
    /// Bytes that arrived after the text of the last wait.
    rest: Vec<u8>,
}

/// A received message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Bytes.
    Bytes(Vec<u8>),
    /// Text.
    Text(String),
    /// The close code and reason.
    Close(u16, String),
    /// The connection broke without a close message.
    Broken,
}

impl WebSocket {
    /// Attaches to a run.
    #[track_caller]
    pub fn attach(api: &Api, id: &str) -> Self {
        let mut wire = api.connect();
        let headers = [
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        wire.request("GET", &format!("/v1/runs/{id}/attach"), &headers, b"");
        let head = wire.head();
        assert_eq!(head.status, 101, "{head:?} {:?}", String::from_utf8_lossy(&wire.take(4096)));
        // The response to this key by RFC 6455.
        assert_eq!(head.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        Self { wire, rest: Vec::new() }
    }

    fn send(&mut self, opcode: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | opcode];
        match u16::try_from(payload.len()) {
            Ok(length) if length < 126 => frame.push(0x80 | payload.len().to_le_bytes()[0]),
            Ok(length) => {
                frame.push(0xfe);
                frame.extend(length.to_be_bytes());
            }
            Err(_) => {
                frame.push(0xff);
                frame.extend((payload.len() as u64).to_be_bytes());
            }
        }
        let mask = [1, 2, 3, 4];
        frame.extend(mask);
        frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        // A closed connection reports its reason at the next read.
        let _ = self.wire.send(&frame);
    }

    /// Sends keys as bytes.
    pub fn keys(&mut self, keys: &str) {
        self.send(2, keys.as_bytes());
    }

    /// Sends text.
    pub fn text(&mut self, text: &str) {
        self.send(1, text.as_bytes());
    }

    /// Sends a close message.
    pub fn close(&mut self) {
        self.send(8, &1000u16.to_be_bytes());
    }

    /// Reads the next message; answers pings.
    #[track_caller]
    pub fn hear(&mut self) -> Said {
        loop {
            let [first, length] = self.wire.take(2)[..] else { return Said::Broken };
            let length = match length & 0x7f {
                126 => self.wire.take(2).iter().fold(0, |n, &byte| n << 8 | usize::from(byte)),
                127 => self.wire.take(8).iter().fold(0, |n, &byte| n << 8 | usize::from(byte)),
                short => usize::from(short),
            };
            let payload = self.wire.take(length);
            match first & 0x0f {
                1 => return Said::Text(String::from_utf8_lossy(&payload).into_owned()),
                2 => return Said::Bytes(payload),
                8 => {
                    let code = payload.iter().take(2).fold(0, |n, &byte| n << 8 | u16::from(byte));
                    let reason = String::from_utf8_lossy(payload.get(2..).unwrap_or_default()).into_owned();
                    return Said::Close(code, reason);
                }
                9 => self.send(10, &payload),
                _ => {}
            }
        }
    }

    /// Reads until this text has arrived; returns the text before it.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> String {
        let mut seen = std::mem::take(&mut self.rest);
        loop {
            if let Some(at) = seen.windows(text.len()).position(|part| part == text.as_bytes()) {
                self.rest = seen.split_off(at + text.len());
                return String::from_utf8_lossy(&seen).into_owned();
            }
            let shown = String::from_utf8_lossy(&seen).into_owned();
            match self.hear() {
                Said::Bytes(bytes) => seen.extend(bytes),
                other => panic!("no {text:?} before {other:?}: {shown:?}"),
            }
        }
    }

    /// Reads to the end; returns the bytes, the code and the reason.
    #[track_caller]
    pub fn end(&mut self) -> (String, u16, String) {
        let mut seen = std::mem::take(&mut self.rest);
        loop {
            match self.hear() {
                Said::Bytes(bytes) => seen.extend(bytes),
                Said::Text(text) => panic!("{text:?} was not expected"),
                Said::Close(code, reason) => {
                    return (String::from_utf8_lossy(&seen).into_owned(), code, reason);
                }
                Said::Broken => panic!("no close message: {:?}", String::from_utf8_lossy(&seen)),
            }
        }
    }
}
