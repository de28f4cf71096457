//! A receiver of webhooks on loopback that fails as a test wants, and records every call. It checks signatures with its
//! own code.

use crate::WAIT_LIMIT;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use serde_json::Value;
use sha2::Sha256;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

/// Key of the signatures.
pub const SECRET: &[u8] = b"a secret between two programs";

/// A local address that is no other's source, so that a closed port is not reused by chance.
const HERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 77);

/// Reaction to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Responds with this status.
    Status(u16),
    /// Redirects there.
    Redirect(String),
    /// Never responds.
    Silence,
    /// Closes the connection after the call was read.
    Death,
}

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The requested path.
    pub path: String,
    /// The notice's key.
    pub key: String,
    /// The notice's body.
    pub body: Value,
    /// True if the signature is valid.
    pub signed: bool,
    /// The reaction to it.
    pub answer: Answer,
}

impl Call {
    /// True if it was accepted. The caller may not have got the response.
    pub fn accepted(&self) -> bool {
        matches!(self.answer, Answer::Status(200..=299))
    }

    /// The notice's purpose.
    pub fn purpose(&self) -> &str {
        self.body["data"]["purpose"].as_str().unwrap_or_default()
    }

    /// The notice's task.
    pub fn task(&self) -> &str {
        self.body["data"]["taskId"].as_str().unwrap_or_default()
    }
}

/// Chooses the reaction to a call by its path and the number of earlier calls with the same key.
pub type Behaviour = fn(path: &str, earlier: usize) -> Answer;

/// The receiver; dropped, it stops.
#[derive(Debug)]
pub struct WebhookReceiver {
    address: SocketAddr,
    manners: Behaviour,
    heard: Arc<Mutex<Heard>>,
    open: Option<Open>,
}

/// All recorded calls.
#[derive(Debug, Default)]
struct Heard {
    calls: Vec<Call>,
    /// Number of calls and of accepted calls by key.
    keys: BTreeMap<String, (usize, usize)>,
}

/// The listener while the receiver is open.
#[derive(Debug)]
struct Open {
    closing: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl WebhookReceiver {
    /// An open receiver.
    #[track_caller]
    pub fn new(manners: Behaviour) -> Self {
        let listener = TcpListener::bind((HERE, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut receiver = Self { address, manners, heard: Arc::default(), open: None };
        receiver.serve(listener);
        receiver
    }

    /// An open receiver that accepts everything.
    #[track_caller]
    pub fn kind() -> Self {
        Self::new(|_, _| Answer::Status(204))
    }

    fn serve(&mut self, listener: TcpListener) {
        let closing = Arc::new(AtomicBool::new(false));
        let (stop, heard, manners) = (Arc::clone(&closing), Arc::clone(&self.heard), self.manners);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let heard = Arc::clone(&heard);
                // A caller that was killed half-way does not matter.
                std::thread::spawn(move || serve_one(stream, &heard, manners));
            }
        });
        self.open = Some(Open { closing, thread });
    }

    /// Refuses connections from now on.
    #[track_caller]
    pub fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        open.closing.store(true, Ordering::Relaxed);
        // The thread checks the flag at the next connection.
        let _ = TcpStream::connect(self.address);
        open.thread.join().expect("the receiver does not panic");
    }

    /// Accepts connections again, at the same address.
    #[track_caller]
    pub fn reopen(&mut self) {
        assert!(self.open.is_none(), "it is open");
        self.serve(TcpListener::bind(self.address).expect("its own port"));
    }

    /// A URL of the receiver.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().expect("the receiver does not panic")
    }

    /// Every call so far.
    pub fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    /// Number of acceptances by key.
    pub fn accepted(&self) -> BTreeMap<String, usize> {
        let heard = self.lock();
        let taken = heard.keys.iter().filter(|(_, (_, taken))| *taken > 0);
        taken.map(|(key, (_, taken))| (key.clone(), *taken)).collect()
    }

    /// Number of accepted keys.
    pub fn taken(&self) -> usize {
        self.lock().keys.values().filter(|(_, taken)| *taken > 0).count()
    }

    /// Number of calls.
    pub fn count(&self) -> usize {
        self.lock().calls.len()
    }

    /// The calls about this task, in order.
    pub fn of_task(&self, task: &str) -> Vec<Call> {
        self.lock().calls.iter().filter(|call| call.task() == task).cloned().collect()
    }
}

impl Drop for WebhookReceiver {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.close();
        }
    }
}

fn serve_one(stream: TcpStream, heard: &Mutex<Heard>, manners: Behaviour) {
    let Ok(Some((path, headers, body))) = read(&stream) else { return };
    let header = |name: &str| headers.get(name).map(String::as_str).unwrap_or_default();
    let key = header("webhook-id").to_owned();
    let signed = header("webhook-signature") == signature(&key, header("webhook-timestamp"), &body);
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let answer = {
        let mut heard = heard.lock().expect("the receiver does not panic");
        let (told, taken) = heard.keys.entry(key.clone()).or_default();
        let answer = manners(&path, *told);
        let call = Call { path, key, body, signed, answer: answer.clone() };
        *told += 1;
        *taken += usize::from(call.accepted());
        heard.calls.push(call);
        answer
    };
    // A caller that is gone comes again with the same key.
    let _ = reply(stream, &answer);
}

type Request = (String, BTreeMap<String, String>, Vec<u8>);

/// Reads a request; `None` if there was none.
fn read(stream: &TcpStream) -> io::Result<Option<Request>> {
    stream.set_read_timeout(Some(WAIT_LIMIT))?;
    stream.set_write_timeout(Some(WAIT_LIMIT))?;
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let path = first.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((path, headers, body)))
}

fn reply(mut stream: TcpStream, answer: &Answer) -> io::Result<()> {
    match answer {
        Answer::Status(status) => {
            write!(stream, "HTTP/1.1 {status} So\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        Answer::Redirect(to) => {
            write!(
                stream,
                "HTTP/1.1 307 So\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
        }
        Answer::Silence => stream.read(&mut [0]).map(drop),
        Answer::Death => stream.shutdown(Shutdown::Both),
    }
}

fn signature(key: &str, timestamp: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET).expect("a key of any length");
    mac.update([key, ".", timestamp, "."].concat().as_bytes());
    mac.update(body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}
