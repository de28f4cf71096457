//! A receiver of webhooks on loopback that behaves as badly as a test wants, and remembers every call. It checks
//! signatures by its own hand.

use crate::PATIENCE;
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

/// What the calls are signed with.
pub const SECRET: &[u8] = b"a secret between two programs";

/// An address of this machine that nobody connects from, so that a port which was given up is not taken by chance.
const HERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 77);

/// What comes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This status.
    Status(u16),
    /// That it is to be called there instead.
    Redirect(String),
    /// None, for as long as the caller waits.
    Silence,
    /// None: the connection ends after the call was read.
    Death,
}

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The path that was called.
    pub path: String,
    /// The notice's key.
    pub key: String,
    /// What was told.
    pub body: Value,
    /// Whether it is signed as it should be.
    pub signed: bool,
    /// What came of it.
    pub answer: Answer,
}

impl Call {
    /// Whether it was taken. The caller may not have heard so.
    pub fn accepted(&self) -> bool {
        matches!(self.answer, Answer::Status(200..=299))
    }

    /// What the notice is for.
    pub fn purpose(&self) -> &str {
        self.body["data"]["purpose"].as_str().unwrap_or_default()
    }

    /// The task it tells of.
    pub fn task(&self) -> &str {
        self.body["data"]["taskId"].as_str().unwrap_or_default()
    }
}

/// Says what comes of the call to this path, after so many with the same key.
pub type Manners = fn(path: &str, earlier: usize) -> Answer;

/// The receiver. It goes when this is dropped.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    manners: Manners,
    heard: Arc<Mutex<Heard>>,
    open: Option<Open>,
}

/// What it remembers.
#[derive(Debug, Default)]
struct Heard {
    calls: Vec<Call>,
    /// How often each key was told, and how often taken.
    keys: BTreeMap<String, (usize, usize)>,
}

/// While it lets callers in.
#[derive(Debug)]
struct Open {
    closing: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Receiver {
    /// One that lets callers in.
    #[track_caller]
    pub fn new(manners: Manners) -> Self {
        let listener = TcpListener::bind((HERE, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut receiver = Self { address, manners, heard: Arc::default(), open: None };
        receiver.serve(listener);
        receiver
    }

    /// One that takes everything.
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
                // A caller that was killed half-way is no matter.
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
        // It looks when somebody comes.
        let _ = TcpStream::connect(self.address);
        open.thread.join().expect("the receiver does not panic");
    }

    /// Lets callers in again, at the same address.
    #[track_caller]
    pub fn reopen(&mut self) {
        assert!(self.open.is_none(), "it is open");
        self.serve(TcpListener::bind(self.address).expect("its own port"));
    }

    /// Its address with this path.
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

    /// How often each key was taken.
    pub fn accepted(&self) -> BTreeMap<String, usize> {
        let heard = self.lock();
        let taken = heard.keys.iter().filter(|(_, (_, taken))| *taken > 0);
        taken.map(|(key, (_, taken))| (key.clone(), *taken)).collect()
    }

    /// How many keys were taken.
    pub fn taken(&self) -> usize {
        self.lock().keys.values().filter(|(_, taken)| *taken > 0).count()
    }

    /// How many calls there were.
    pub fn count(&self) -> usize {
        self.lock().calls.len()
    }

    /// The calls that tell of this task, in their order.
    pub fn of_task(&self, task: &str) -> Vec<Call> {
        self.lock().calls.iter().filter(|call| call.task() == task).cloned().collect()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.close();
        }
    }
}

fn serve_one(stream: TcpStream, heard: &Mutex<Heard>, manners: Manners) {
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
    // A caller that is gone hears nothing; it comes again with the same key.
    let _ = reply(stream, &answer);
}

type Request = (String, BTreeMap<String, String>, Vec<u8>);

/// A request; `None` if there was none.
fn read(stream: &TcpStream) -> io::Result<Option<Request>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
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
