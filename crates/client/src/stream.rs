//! Server-sent events, as they come over a response's body.

use crate::{Client, Failed};
use http_body_util::BodyExt;
use hyper::body::Incoming;

/// One of them. What it does not have is `None`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) event: Option<String>,
    pub(crate) id: Option<u64>,
    pub(crate) data: Option<Vec<u8>>,
}

/// Gives each to `take` as it comes, until that says no or the stream ends.
pub(crate) async fn each(
    client: &Client,
    mut body: Incoming,
    mut take: impl FnMut(Sent) -> Result<bool, Failed>,
) -> Result<(), Failed> {
    let mut lines = Lines::default();
    while let Some(frame) = client.while_alive(async { body.frame().await.transpose() }).await? {
        let Ok(data) = frame.into_data() else { continue };
        lines.text.extend_from_slice(&data);
        while let Some(sent) = lines.next() {
            if !take(sent)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// What has come of them and was not given away.
#[derive(Default)]
struct Lines {
    text: Vec<u8>,
    begun: Sent,
}

impl Lines {
    /// The next that is whole.
    fn next(&mut self) -> Option<Sent> {
        let mut read = 0;
        let mut whole = None;
        while let Some(length) = self.text[read..].iter().position(|&b| b == b'\n') {
            let line = self.text[read..read + length].trim_ascii();
            read += length + 1;
            if line.is_empty() {
                whole = Some(std::mem::take(&mut self.begun));
                break;
            }
            take(&mut self.begun, line);
        }
        self.text.drain(..read);
        whole
    }
}

/// A line of an event. What is none, such as a comment, says nothing.
fn take(begun: &mut Sent, line: &[u8]) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
    if let Some(id) = line.strip_prefix(b"id:") {
        begun.id = text(id).parse().ok();
    } else if let Some(event) = line.strip_prefix(b"event:") {
        begun.event = Some(text(event));
    } else if let Some(data) = line.strip_prefix(b"data:") {
        let all = begun.data.get_or_insert_default();
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
    fn events_are_found_however_they_are_cut() {
        let text = ": hello\n\nevent: entry\nid: 7\ndata: {\"a\":\ndata: 1}\n\nid:9\n\ndata: begun";
        for size in 1..text.len() {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for part in text.as_bytes().chunks(size) {
                lines.text.extend_from_slice(part);
                found.extend(std::iter::from_fn(|| lines.next()));
            }
            let entry =
                Sent { event: Some("entry".into()), id: Some(7), data: Some(b"{\"a\":\n1}".to_vec()) };
            let place = Sent { id: Some(9), ..Sent::default() };
            assert_eq!(found, [Sent::default(), entry, place], "{size}");
        }
    }
}
