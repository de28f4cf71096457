//! The client of tests and benchmarks that writes HTTP itself, so that a test can also send invalid requests. Every read
//! and write has a deadline.

use crate::WAIT_LIMIT;
use crate::install::Install;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Address of a daemon.
#[derive(Debug, Clone)]
pub enum Api {
    /// Unix socket.
    Local(PathBuf),
    /// Loopback address.
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

/// Status and headers of a response.
#[derive(Debug, Clone)]
pub struct Head {
    /// The status.
    pub status: u16,
    headers: Vec<(String, String)>,
}

/// A complete response.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its first part.
    pub head: Head,
    /// Its body.
    pub body: Vec<u8>,
}

impl Api {
    /// The daemon of an installation, started if none runs.
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

    /// A new connection, or an error if the daemon is gone.
    pub fn try_connect(&self) -> io::Result<Wire> {
        let stream = match self {
            Api::Local(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(WAIT_LIMIT))?;
                stream.set_write_timeout(Some(WAIT_LIMIT))?;
                Stream::Unix(stream)
            }
            Api::Loopback(address) => {
                let stream = TcpStream::connect_timeout(address, WAIT_LIMIT)?;
                stream.set_read_timeout(Some(WAIT_LIMIT))?;
                stream.set_write_timeout(Some(WAIT_LIMIT))?;
                Stream::Tcp(stream)
            }
        };
        Ok(Wire { stream, ahead: Vec::new() })
    }

    /// Sends a request with additional headers.
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

    /// Opens a stream, whose body is read piece by piece.
    #[track_caller]
    pub fn follow(&self, path: &str, headers: &[(&str, &str)]) -> Body {
        let mut wire = self.connect();
        wire.request("GET", path, headers, b"");
        let head = wire.head();
        assert_eq!(head.status, 200, "{head:?}");
        Body { wire, head, over: false }
    }
}

/// The error for an invalid response.
fn odd(what: &str, bytes: &[u8]) -> io::Error {
    io::Error::other(format!("{what}: {:?}", String::from_utf8_lossy(bytes)))
}

/// The text of a JSON string.
#[track_caller]
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no string")).to_owned()
}

impl Wire {
    /// Writes bytes unchanged.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.stream {
            Stream::Unix(stream) => stream.write_all(bytes),
            Stream::Tcp(stream) => stream.write_all(bytes),
        }
    }

    /// Closes the writing side.
    pub fn hang_up(&self) {
        let _ = match &self.stream {
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
        };
    }

    /// Writes a request. An early refusal leaves the rest unread, so this may fail half-way.
    pub fn request(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let _ = self.try_request(method, path, headers, body);
    }

    /// Writes a request; an error if the daemon does not read all of it.
    pub fn try_request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<()> {
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
        self.send(head.as_bytes())?;
        self.send(body)
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

    /// Reads `count` bytes, or fewer at the end.
    #[track_caller]
    pub fn take(&mut self, count: usize) -> Vec<u8> {
        self.try_take(count).expect("an answer in time")
    }

    fn try_take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.ahead.len() < count && self.fill()? > 0 {}
        let end = count.min(self.ahead.len());
        Ok(self.ahead.drain(..end).collect())
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.ahead.windows(2).position(|two| two == b"\r\n") {
                let line: Vec<u8> = self.ahead.drain(..end + 2).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if self.fill()? == 0 {
                return Err(odd("the connection ended", &self.ahead));
            }
        }
    }

    /// Reads status and headers.
    #[track_caller]
    pub fn head(&mut self) -> Head {
        self.try_head().expect("a head in time")
    }

    fn try_head(&mut self) -> io::Result<Head> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| odd("no status", first.as_bytes()))?;
        let mut headers = Vec::new();
        while let Some((name, value)) = self.line()?.split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Ok(Head { status, headers })
    }

    /// Reads the complete response.
    #[track_caller]
    pub fn answer(&mut self) -> Answer {
        self.try_answer().expect("an answer in time")
    }

    /// Reads the complete response, or an error if the daemon is gone or too slow.
    pub fn try_answer(&mut self) -> io::Result<Answer> {
        let head = self.try_head()?;
        let body = match head.header("content-length").and_then(|length| length.parse().ok()) {
            Some(length) => self.try_take(length)?,
            None if head.header("transfer-encoding") == Some("chunked") => {
                std::iter::from_fn(|| self.chunk().transpose()).collect::<io::Result<Vec<_>>>()?.concat()
            }
            None if matches!(head.status, 101 | 204 | 304) => Vec::new(),
            None => self.try_take(usize::MAX)?,
        };
        Ok(Answer { head, body })
    }

    /// Reads the next chunk; `None` after the last.
    fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let size = self.line()?;
        let size = usize::from_str_radix(&size, 16).map_err(|_| odd("no chunk size", size.as_bytes()))?;
        let bytes = self.try_take(size)?;
        if bytes.len() < size || !self.line()?.is_empty() {
            return Err(odd("a chunk was cut off", &bytes));
        }
        Ok((size > 0).then_some(bytes))
    }

    /// Number of received bytes that are unread.
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

    /// Waits until the other end has closed; false after the time limit.
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

    /// The body as JSON, or null if it is not JSON.
    pub fn json_or_null(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

/// A body that is read piece by piece.
#[derive(Debug)]
pub struct Body {
    wire: Wire,
    /// The answer's first part.
    pub head: Head,
    over: bool,
}

impl Body {
    /// Reads the next piece; `None` after the last.
    #[track_caller]
    pub fn next_piece(&mut self) -> Option<Vec<u8>> {
        if self.over {
            return None;
        }
        let piece = self.wire.chunk().expect("a piece in time");
        self.over = piece.is_none();
        piece
    }

    /// Reads to the end.
    #[track_caller]
    pub fn rest(mut self) -> Vec<u8> {
        std::iter::from_fn(|| self.next_piece()).collect::<Vec<_>>().concat()
    }

    /// Reads until this text has arrived.
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
