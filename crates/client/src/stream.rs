//! Parser for server-sent events in a response's body.

use crate::{CallError, Client};
use http_body_util::BodyExt;
use hyper::body::Incoming;

/// An event. Fields that it does not have are `None`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerEvent {
    pub(crate) event: Option<String>,
    pub(crate) id: Option<u64>,
    pub(crate) data: Option<Vec<u8>>,
}

/// Passes each event to `take`, until that returns false or the stream ends.
pub(crate) async fn for_each_event(
    client: &Client,
    mut body: Incoming,
    mut take: impl FnMut(ServerEvent) -> Result<bool, CallError>,
) -> Result<(), CallError> {
    let mut buffer = EventBuffer::default();
    while let Some(frame) = client.while_alive(async { body.frame().await.transpose() }).await? {
        let Ok(data) = frame.into_data() else { continue };
        buffer.text.extend_from_slice(&data);
        while let Some(event) = buffer.next() {
            if !take(event)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Received text, and the fields of the event that it began.
#[derive(Default)]
struct EventBuffer {
    text: Vec<u8>,
    current: ServerEvent,
}

impl EventBuffer {
    /// Returns the next complete event.
    fn next(&mut self) -> Option<ServerEvent> {
        let mut read = 0;
        let mut whole = None;
        while let Some(length) = self.text[read..].iter().position(|&b| b == b'\n') {
            let line = self.text[read..read + length].trim_ascii();
            read += length + 1;
            if line.is_empty() {
                whole = Some(std::mem::take(&mut self.current));
                break;
            }
            parse_line(&mut self.current, line);
        }
        self.text.drain(..read);
        whole
    }
}

/// Adds a line to an event. Comments and unknown fields are skipped.
fn parse_line(event: &mut ServerEvent, line: &[u8]) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
    if let Some(id) = line.strip_prefix(b"id:") {
        event.id = text(id).parse().ok();
    } else if let Some(name) = line.strip_prefix(b"event:") {
        event.event = Some(text(name));
    } else if let Some(data) = line.strip_prefix(b"data:") {
        let all = event.data.get_or_insert_default();
        if !all.is_empty() {
            all.push(b'\n');
        }
        all.extend_from_slice(data.trim_ascii());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_parsed_from_pieces_of_any_size() {
        let text = ": hello\n\nevent: entry\nid: 7\ndata: {\"a\":\ndata: 1}\n\nid:9\n\ndata: begun";
        for size in 1..text.len() {
            let mut lines = EventBuffer::default();
            let mut found = Vec::new();
            for part in text.as_bytes().chunks(size) {
                lines.text.extend_from_slice(part);
                found.extend(std::iter::from_fn(|| lines.next()));
            }
            let entry =
                ServerEvent { event: Some("entry".into()), id: Some(7), data: Some(b"{\"a\":\n1}".to_vec()) };
            let place = ServerEvent { id: Some(9), ..ServerEvent::default() };
            assert_eq!(found, [ServerEvent::default(), entry, place], "{size}");
        }
    }
}
