//! The daemon's API as a client without a library speaks it: raw HTTP, so that a test can also speak it badly.
//! Every read and write has a deadline.

use crate::PATIENCE;
use crate::install::Install;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Where a daemon is reached.
#[derive(Debug, Clone)]
pub enum Api {
    /// Its socket.
    Local(PathBuf),
    /// Its loopback address.
    Loopback(SocketAddr),
}

/// A connection.
#[derive(Debug)]
pub struct Wire {
    stream: Stream,
    ahead: Vec<u8>,
}

#[derive(Debug)]
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// The first part of an answer.
#[derive(Debug, Clone)]
pub struct Head {
    /// The status.
    pub status: u16,
    headers: Vec<(String, String)>,
}

/// An answer, whole.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its first part.
    pub head: Head,
    /// Its body.
    pub body: Vec<u8>,
}

impl Api {
    /// The daemon of an installation, which is started if none runs.
    #[track_caller]
    pub fn of(install: &Install) -> Self {
        let output = install.tenure(&["daemon", "start"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self::Local(install.state().join("daemon.sock"))
    }

    /// A new connection.
    #[track_caller]
    pub fn connect(&self) -> Wire {
        self.try_connect().expect("the daemon lets clients in")
    }

    /// A new connection, unless the daemon is gone.
    pub fn try_connect(&self) -> io::Result<Wire> {
        let stream = match self {
            Api::Local(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Stream::Unix(stream)
            }
            Api::Loopback(address) => {
                let stream = TcpStream::connect_timeout(address, PATIENCE)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Stream::Tcp(stream)
            }
        };
        Ok(Wire { stream, ahead: Vec::new() })
    }

    /// Asks, with these headers beside the necessary ones.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut wire = self.connect();
        wire.request(method, path, headers, body);
        wire.answer()
    }

    /// Gets something.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"")
    }

    /// Posts JSON.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &[], body.to_string().as_bytes())
    }

    /// Deletes something.
    #[track_caller]
    pub fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, &[], b"")
    }

    /// Starts a run and returns it.
    #[track_caller]
    pub fn run(&self, request: &Value) -> Value {
        self.post("/v1/runs", request).is(201).json()
    }

    /// Starts a run and returns its id.
    #[track_caller]
    pub fn start(&self, request: &Value) -> String {
        text(&self.run(request)["runId"])
    }

    /// Waits for a run's end and returns the run.
    #[track_caller]
    pub fn wait(&self, id: &str) -> Value {
        let body = serde_json::json!({"timeoutMs": 50_000});
        let run = self.post(&format!("/v1/runs/{id}/wait"), &body).is(200).json();
        assert_eq!(run["state"], "exited", "{run}");
        run
    }

    /// Begins a stream; its body is read piece by piece.
    #[track_caller]
    pub fn follow(&self, path: &str, headers: &[(&str, &str)]) -> Body {
        let mut wire = self.connect();
        wire.request("GET", path, headers, b"");
        let head = wire.head();
        assert_eq!(head.status, 200, "{head:?}");
        Body { wire, head, over: false }
    }
}

/// A JSON string's text.
#[track_caller]
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no string")).to_owned()
}

impl Wire {
    /// Writes bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.stream {
            Stream::Unix(stream) => stream.write_all(bytes),
            Stream::Tcp(stream) => stream.write_all(bytes),
        }
    }

    /// Says that nothing more is said.
    pub fn hang_up(&self) {
        let _ = match &self.stream {
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
        };
    }

    /// Writes a request. One that is refused early is not read to its end, so this may fail half-way.
    pub fn request(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        let named = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if !named("host") {
            head += "Host: localhost\r\n";
        }
        if !named("content-length") && !named("transfer-encoding") {
            head += &["Content-Length: ", &body.len().to_string(), "\r\n"].concat();
        }
        for (name, value) in headers {
            head += &[name, ": ", value, "\r\n"].concat();
        }
        head += "\r\n";
        let _ = self.send(head.as_bytes()).and_then(|()| self.send(body));
    }

    fn fill(&mut self) -> io::Result<usize> {
        let mut chunk = [0; 16384];
        let n = match &mut self.stream {
            Stream::Unix(stream) => stream.read(&mut chunk)?,
            Stream::Tcp(stream) => stream.read(&mut chunk)?,
        };
        self.ahead.extend_from_slice(&chunk[..n]);
        Ok(n)
    }

    /// So many bytes, or fewer if there are no more.
    #[track_caller]
    pub fn take(&mut self, count: usize) -> Vec<u8> {
        while self.ahead.len() < count && self.fill().expect("an answer in time") > 0 {}
        let end = count.min(self.ahead.len());
        self.ahead.drain(..end).collect()
    }

    #[track_caller]
    fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.ahead.windows(2).position(|two| two == b"\r\n") {
                let line: Vec<u8> = self.ahead.drain(..end + 2).collect();
                return String::from_utf8_lossy(&line[..end]).into_owned();
            }
            let n = self.fill().expect("an answer in time");
            assert!(n > 0, "the connection ended: {:?}", String::from_utf8_lossy(&self.ahead));
        }
    }

    /// The first part of the answer.
    #[track_caller]
    pub fn head(&mut self) -> Head {
        let first = self.line();
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {first:?}"));
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            match line.split_once(':') {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
                None => return Head { status, headers },
            }
        }
    }

    /// The whole answer.
    #[track_caller]
    pub fn answer(&mut self) -> Answer {
        let head = self.head();
        let body = match head.header("content-length").and_then(|length| length.parse().ok()) {
            Some(length) => self.take(length),
            None if head.header("transfer-encoding") == Some("chunked") => {
                std::iter::from_fn(|| self.chunk()).collect::<Vec<_>>().concat()
            }
            None if matches!(head.status, 101 | 204 | 304) => Vec::new(),
            None => self.take(usize::MAX),
        };
        Answer { head, body }
    }

    /// The next chunk; `None` after the last.
    #[track_caller]
    fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = self.line();
        let size = usize::from_str_radix(&size, 16).unwrap_or_else(|_| panic!("no chunk size: {size:?}"));
        let bytes = self.take(size);
        assert_eq!(bytes.len(), size, "a chunk was cut off");
        assert_eq!(self.line(), "");
        (size > 0).then_some(bytes)
    }

    /// How many bytes have come that nobody has read.
    pub fn unread(&self) -> u64 {
        let waiting = match &self.stream {
            Stream::Unix(stream) => rustix::io::ioctl_fionread(stream),
            Stream::Tcp(stream) => rustix::io::ioctl_fionread(stream),
        };
        waiting.expect("a socket") + self.ahead.len() as u64
    }

    /// The size of a local socket's send buffer, the same at both ends.
    pub fn send_buffer(&self) -> u64 {
        let Stream::Unix(stream) = &self.stream else { panic!("not a local socket") };
        rustix::net::sockopt::socket_send_buffer_size(stream).expect("a socket") as u64
    }

    /// Whether the other end has closed, in time.
    pub fn is_closed(&mut self) -> bool {
        loop {
            match self.fill() {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == io::ErrorKind::ConnectionReset,
            }
        }
    }
}

impl Head {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Answer {
    /// Asserts the status.
    #[track_caller]
    #[must_use]
    pub fn is(self, status: u16) -> Self {
        assert_eq!(self.head.status, status, "{}", self.text());
        self
    }

    /// Asserts that it is a problem with this status and code; returns its detail.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> String {
        let answer = self.is(status);
        assert_eq!(answer.head.header("content-type"), Some("application/problem+json"), "{}", answer.text());
        let problem = answer.json();
        assert_eq!((&problem["code"], &problem["status"]), (&code.into(), &status.into()), "{problem}");
        assert!(problem["title"].is_string(), "{problem}");
        text(&problem["detail"])
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; null if it is something else.
    pub fn json_or_null(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

/// A body that comes piece by piece.
#[derive(Debug)]
pub struct Body {
    wire: Wire,
    /// The answer's first part.
    pub head: Head,
    over: bool,
}

impl Body {
    /// The next piece; `None` after the last.
    #[track_caller]
    pub fn next_piece(&mut self) -> Option<Vec<u8>> {
        if self.over {
            return None;
        }
        let piece = self.wire.chunk();
        self.over = piece.is_none();
        piece
    }

    /// All that is to come.
    #[track_caller]
    pub fn rest(mut self) -> Vec<u8> {
        std::iter::from_fn(|| self.next_piece()).collect::<Vec<_>>().concat()
    }

    /// Reads until this text has come.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> Vec<u8> {
        let mut seen = Vec::new();
        while !seen.windows(text.len()).any(|window| window == text.as_bytes()) {
            let piece = self.next_piece();
            let shown = String::from_utf8_lossy(&seen).into_owned();
            seen.extend(piece.unwrap_or_else(|| panic!("it ended before {text:?}: {shown:?}")));
        }
        seen
    }
}
