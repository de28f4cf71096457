//! An end of a connection that carries frames, without its socket: a driver reads into it and writes out of it. The
//! keeper's driver polls (`tenure_keeper::frames`), the daemon's is async (`link.rs`); both buffer and greet by
//! this.

use super::{BadFrame, Holder, KeeperMessage, KeeperRequest, Role, VERSION, decode, encode, refusal};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

/// The buffers of one connection, and the wire's version on it. An idle connection holds no memory.
#[derive(Debug)]
pub struct Connection {
    incoming: Vec<u8>,
    /// The number of bytes of `incoming` that were taken.
    taken: usize,
    outgoing: Vec<u8>,
    /// The number of bytes of `outgoing` that were sent.
    sent: usize,
    version: u32,
}

impl Default for Connection {
    fn default() -> Self {
        Self::resume(Vec::new())
    }
}

impl Connection {
    /// Makes a connection of which these bytes were read already.
    pub fn resume(incoming: Vec<u8>) -> Self {
        Self { incoming, taken: 0, outgoing: Vec::new(), sent: 0, version: VERSION }
    }

    /// Returns the bytes that were read and not taken, for a reader that adds to them.
    pub fn incoming(&mut self) -> &mut Vec<u8> {
        self.incoming.drain(..std::mem::take(&mut self.taken));
        &mut self.incoming
    }

    /// Makes room for `room` bytes, and keeps as many of them as `read` says that it has filled.
    pub fn read_in<R>(&mut self, room: usize, read: impl FnOnce(&mut [u8]) -> (usize, R)) -> R {
        let incoming = self.incoming();
        let start = incoming.len();
        incoming.resize(start + room, 0);
        let (filled, result) = read(&mut incoming[start..]);
        incoming.truncate(start + filled.min(room));
        if incoming.is_empty() {
            *incoming = Vec::new();
        }
        result
    }

    /// Returns true if a whole frame was read, or something that is not a frame.
    pub fn has_frame(&self) -> bool {
        !matches!(decode::<IgnoredAny>(&self.incoming[self.taken..]), Ok(None))
    }

    /// Takes the next whole frame that was read.
    pub fn next_frame<T: DeserializeOwned>(&mut self) -> Result<Option<(T, Vec<u8>)>, BadFrame> {
        let Some((head, body, length)) = decode(&self.incoming[self.taken..])? else { return Ok(None) };
        let frame = (head, body.to_vec());
        self.taken += length;
        if self.taken == self.incoming.len() {
            (self.incoming, self.taken) = (Vec::new(), 0);
        }
        Ok(Some(frame))
    }

    /// Adds a frame to send.
    pub fn push<T: Serialize>(&mut self, head: &T, body: &[u8]) {
        self.push_rest(&encode(head, body));
    }

    /// Adds the rest of a frame whose beginning was sent in another way.
    pub fn push_rest(&mut self, bytes: &[u8]) {
        self.outgoing.extend_from_slice(bytes);
    }

    /// Returns the bytes to send.
    pub fn unsent(&self) -> &[u8] {
        &self.outgoing[self.sent..]
    }

    /// Notes that so many bytes of [`Self::unsent`] were sent.
    pub fn sent(&mut self, count: usize) {
        self.sent += count;
        if self.sent >= self.outgoing.len() {
            self.drop_unsent();
        }
    }

    /// Drops the bytes to send: nobody reads them any more.
    pub fn drop_unsent(&mut self) {
        (self.outgoing, self.sent) = (Vec::new(), 0);
    }

    /// Returns the hello to a keeper, in the newest version that it has not refused.
    pub fn hello(&self, role: Role, holder: Option<Holder>) -> KeeperRequest {
        KeeperRequest::Hello { version: self.version, role, holder }
    }

    /// Takes the answer to a hello. Returns true if the hello must be sent again, in an older version: a keeper
    /// that is older than this program refuses a hello that it does not know, and keeps listening.
    pub fn steps_down(&mut self, answer: &KeeperMessage) -> bool {
        let refused = matches!(answer, KeeperMessage::Refused { why } if refusal::is_other_version(why));
        let steps_down = refused && self.version > 1;
        self.version -= u32::from(steps_down);
        steps_down
    }

    /// Returns the wire's version on this connection.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns true if the keeper knows this request; a keeper that does not would disconnect.
    pub fn understands(&self, ask: &KeeperRequest) -> bool {
        ask.since() <= self.version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(connection: &mut Connection, bytes: &[u8]) {
        connection.read_in(bytes.len(), |room| {
            room.copy_from_slice(bytes);
            (bytes.len(), ())
        });
    }

    #[test]
    fn frames_arrive_whole_however_they_are_cut() {
        let mut writer = Connection::default();
        writer.push(&KeeperRequest::Status, b"one");
        writer.push(&KeeperRequest::Tree, b"");
        let bytes = writer.unsent().to_vec();
        for cut in 0..=bytes.len() {
            let mut reader = Connection::resume(bytes[..cut].to_vec());
            let mut got = Vec::new();
            while let Some(frame) = reader.next_frame::<KeeperRequest>().unwrap() {
                got.push(frame);
            }
            read(&mut reader, &bytes[cut..]);
            while let Some(frame) = reader.next_frame::<KeeperRequest>().unwrap() {
                got.push(frame);
            }
            assert_eq!(
                got,
                [(KeeperRequest::Status, b"one".to_vec()), (KeeperRequest::Tree, Vec::new())],
                "{cut}"
            );
            assert!(reader.incoming().capacity() == 0, "an idle connection holds no memory");
        }
    }

    #[test]
    fn a_reader_that_fills_less_than_its_room_leaves_nothing_behind() {
        let mut connection = Connection::default();
        assert_eq!(connection.read_in(100, |_| (0, "nothing")), "nothing");
        assert!(!connection.has_frame() && connection.incoming().is_empty());
        read(&mut connection, &[0xff; 8]);
        assert!(connection.has_frame(), "it is none, which is to be heard of");
        assert!(connection.next_frame::<KeeperRequest>().is_err());
    }

    #[test]
    fn what_is_sent_in_pieces_is_sent_once() {
        let mut connection = Connection::default();
        connection.push(&KeeperRequest::Status, b"body");
        let (whole, mut got) = (connection.unsent().to_vec(), Vec::new());
        while !connection.unsent().is_empty() {
            let piece = connection.unsent()[..connection.unsent().len().min(3)].to_vec();
            connection.sent(piece.len());
            got.extend(piece);
        }
        assert_eq!(got, whole);
        connection.push_rest(b"x");
        assert_eq!(connection.unsent(), b"x");
        connection.drop_unsent();
        assert!(connection.unsent().is_empty());
    }

    #[test]
    fn a_hello_steps_down_one_version_at_a_time_and_only_for_the_versions_sake() {
        let mut connection = Connection::default();
        let refused = |why: String| KeeperMessage::Refused { why };
        assert!(!connection.steps_down(&refused(refusal::still_held())) && connection.version() == VERSION);
        for version in (1..=VERSION).rev() {
            assert_eq!(
                connection.hello(Role::Viewer, None),
                KeeperRequest::Hello { version, role: Role::Viewer, holder: None }
            );
            let again = connection.steps_down(&refused(refusal::other_version(version)));
            assert_eq!(again, version > 1, "{version}");
        }
        assert!(
            connection.understands(&KeeperRequest::Status) && !connection.understands(&KeeperRequest::Type)
        );
    }
}
