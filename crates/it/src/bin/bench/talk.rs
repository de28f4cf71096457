//! A client of the API that keeps its one connection and waits for each answer: what it costs itself is next to nothing.

use serde_json::Value;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// One connection to a daemon.
pub(crate) struct Talk {
    stream: UnixStream,
    incoming: Vec<u8>,
}

impl Talk {
    pub(crate) fn open(state: &Path) -> io::Result<Self> {
        Ok(Self { stream: UnixStream::connect(state.join("daemon.sock"))?, incoming: Vec::new() })
    }

    /// Sends a request; the answer is still to be taken.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &str) -> io::Result<()> {
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n");
        let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        self.stream.write_all(request.as_bytes())
    }

    /// Waits for an answer and returns its body; a refusal is an error.
    pub(crate) fn answer(&mut self) -> io::Result<Vec<u8>> {
        let head = self.until(b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        let body = match length {
            Some(length) => self.exactly(length)?,
            None if head.contains("transfer-encoding: chunked") => self.chunks()?,
            None => Vec::new(),
        };
        if head.starts_with("http/1.1 2") {
            return Ok(body);
        }
        let status = head.lines().next().unwrap_or_default().to_owned();
        Err(io::Error::other(format!("{status}: {}", String::from_utf8_lossy(&body))))
    }

    /// Everything up to this and with it.
    fn until(&mut self, end: &[u8]) -> io::Result<Vec<u8>> {
        loop {
            match self.incoming.windows(end.len()).position(|some| some == end) {
                Some(at) => return Ok(self.incoming.drain(..at + end.len()).collect()),
                None => self.read()?,
            }
        }
    }

    /// So many bytes.
    fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.incoming.len() < length {
            self.read()?;
        }
        Ok(self.incoming.drain(..length).collect())
    }

    /// A body of which each part says how long it is.
    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size = self.until(b"\r\n")?;
            let size = String::from_utf8_lossy(&size);
            let length = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
            let part = self.exactly(length + 2)?;
            if length == 0 {
                return Ok(body);
            }
            body.extend_from_slice(&part[..length]);
        }
    }

    fn read(&mut self) -> io::Result<()> {
        let mut chunk = [0; 16 << 10];
        match self.stream.read(&mut chunk)? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the daemon closed the connection")),
            n => {
                self.incoming.extend_from_slice(&chunk[..n]);
                Ok(())
            }
        }
    }

    /// Asks and waits for the answer.
    pub(crate) fn call(&mut self, method: &str, path: &str, body: &str) -> io::Result<Vec<u8>> {
        self.ask(method, path, body)?;
        self.answer()
    }

    /// Starts a run; returns its id once its command executes.
    pub(crate) fn start(&mut self, request: &str) -> io::Result<String> {
        self.ask("POST", "/v1/runs", request)?;
        self.started()
    }

    /// The id of the run whose start was asked for.
    pub(crate) fn started(&mut self) -> io::Result<String> {
        let run: Value = serde_json::from_slice(&self.answer()?)?;
        let id = run["runId"].as_str().map(str::to_owned);
        id.ok_or_else(|| io::Error::other(format!("a run without an id: {run}")))
    }

    /// Waits until a run has ended.
    pub(crate) fn wait(&mut self, run: &str) -> io::Result<()> {
        self.call("POST", &format!("/v1/runs/{run}/wait"), "{}").map(drop)
    }
}
