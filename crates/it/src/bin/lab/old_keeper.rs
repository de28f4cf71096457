//! A keeper of the first protocol version, as it was shipped: it holds the lock, speaks that version word for word, and
//! disconnects a client that sends anything else. It records each request. It is a fixture: features of later versions
//! are not added here.

use serde_json::Value;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use tenure_core::ids::{NurseryId, RunId};
use tenure_core::output::{Keep, Stream};
use tenure_core::record::{self, Boundary, KeeperNote};
use tenure_os::file::Dir;
use tenure_os::lock::Lock;
use tenure_os::process::{Process, own};
use tenure_output::Writer;

struct OldKeeper {
    directory: PathBuf,
    run: RunId,
    record: PathBuf,
    root: i32,
    epoch: Mutex<u64>,
    cause: Mutex<Option<&'static str>>,
    output: Mutex<Writer>,
    /// Connections that get growth and the ending.
    peers: Mutex<Vec<UnixStream>>,
}

#[expect(clippy::disallowed_methods, reason = "a fixture starts its own root")]
pub(crate) fn main(directory: &str, record: &str) {
    let directory = PathBuf::from(directory);
    let run: RunId =
        directory.file_name().and_then(|name| name.to_str()).expect("a name").parse().expect("an id");
    let lock =
        Lock::take(&Dir::open(&directory).expect("a directory"), "keeper").expect("a lock").expect("free");
    let mut root = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().expect("a root");
    let pid = root.id().cast_signed();
    let note = KeeperNote {
        keeper: own().expect("this process"),
        nursery_id: NurseryId::from_random([7; 12]),
        root: Process::open(pid).expect("a process").expect("it lives").identity().clone(),
        boundary: Boundary::Subreaper { why: None },
        started_at_ms: tenure_os::clock::unix_ms(),
        exe: None,
        process_group: None,
        instance_id: None,
        registry_id: None,
    };
    lock.write(&record::encode(&note)).expect("a note");
    let listener = UnixListener::bind(directory.join("ctl.sock")).expect("a socket");
    let kept = Arc::new(OldKeeper {
        output: Mutex::new(Writer::create(&directory.join("output"), Keep::default())),
        record: record.into(),
        root: pid,
        epoch: Mutex::new(1),
        cause: Mutex::new(None),
        peers: Mutex::default(),
        directory,
        run,
    });
    kept.say("old\n");
    println!("ready");
    let listening = Arc::clone(&kept);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let kept = Arc::clone(&listening);
            std::thread::spawn(move || kept.serve(stream));
        }
    });
    let status = root.wait().expect("a child");
    kept.end(status.signal());
    // The lock is held until death.
    drop(lock);
}

impl OldKeeper {
    fn say(&self, text: &str) {
        let mut output = self.output.lock().expect("no panic");
        output.append(Stream::Stdout, text.as_bytes(), tenure_os::clock::unix_ms());
        let to = output.totals().bytes;
        self.tell_all(&format!(r#"{{"tell":"grown","to":{to}}}"#));
    }

    fn tell_all(&self, head: &str) {
        self.peers.lock().expect("no panic").retain_mut(|peer| send(peer, head).is_ok());
    }

    fn end(&self, signal: Option<i32>) {
        let cause = self.cause.lock().expect("no panic").unwrap_or("signal");
        let bytes = self.output.lock().expect("no panic").totals().bytes;
        let signal = signal.map_or("null".to_owned(), |signal| signal.to_string());
        let ending = format!(
            r#"{{"runId":"{}","termination":{{"reason":"{cause}","exitCode":null,"signal":{signal},"confirmed":true,"survivors":[],"leftovers":0,"escapees":[],"detail":null,"outputOpen":false}},"endedAtMs":{},"lastOutputAtMs":null,"output":{{"bytes":{bytes},"droppedBytes":0}}}}"#,
            self.run,
            tenure_os::clock::unix_ms()
        );
        let ending: record::Ending = serde_json::from_str(&ending).expect("an ending of version one");
        let draft = self.directory.join("ending.draft");
        std::fs::write(&draft, record::encode(&ending)).expect("a draft");
        std::fs::rename(draft, self.directory.join("ending")).expect("an ending");
        let text = serde_json::to_string(&ending).expect("JSON");
        self.tell_all(&format!(r#"{{"tell":"ended","ending":{text}}}"#));
    }

    /// Serves one connection until it sends a message that this version does not know.
    fn serve(&self, mut stream: UnixStream) {
        let mut greeted = false;
        while let Ok(head) = receive(&mut stream) {
            let mut record =
                OpenOptions::new().append(true).create(true).open(&self.record).expect("a record");
            writeln!(record, "{head}").expect("written down");
            let answer = match head["ask"].as_str().unwrap_or_default() {
                "hello" => self.hello(&head, &mut greeted, &stream),
                _ if !greeted => r#"{"tell":"refused","why":"say hello first"}"#.to_owned(),
                "status" => self.status(),
                "cancel" => self.cancel(),
                "tree" => r#"{"tell":"tree","processes":[]}"#.to_owned(),
                "follow" => {
                    self.peers.lock().expect("no panic").push(stream.try_clone().expect("a clone"));
                    self.say("followed\n");
                    continue;
                }
                "release" => r#"{"tell":"done"}"#.to_owned(),
                other => {
                    let why = format!("unknown variant `{other}`");
                    let _ = send(&mut stream, &format!(r#"{{"tell":"refused","why":"{why}"}}"#));
                    return;
                }
            };
            if send(&mut stream, &answer).is_err() {
                return;
            }
        }
    }

    fn hello(&self, head: &Value, greeted: &mut bool, stream: &UnixStream) -> String {
        if head["version"] != 1 {
            let version = &head["version"];
            return format!(
                r#"{{"tell":"refused","why":"this keeper speaks version 1 of its wire, not {version}"}}"#
            );
        }
        if head["role"] == "holder" {
            let mut epoch = self.epoch.lock().expect("no panic");
            let theirs = head["epoch"].as_u64().unwrap_or(0);
            if theirs < *epoch {
                return format!(
                    r#"{{"tell":"refused","why":"epoch {theirs} is over: the lease is at {epoch}"}}"#
                );
            }
            *epoch = theirs;
            self.peers.lock().expect("no panic").push(stream.try_clone().expect("a clone"));
        }
        *greeted = true;
        format!(r#"{{"tell":"welcome","version":1,"runId":"{}"}}"#, self.run)
    }

    fn status(&self) -> String {
        let bytes = self.output.lock().expect("no panic").totals().bytes;
        format!(
            r#"{{"tell":"status","state":"running","output":{{"bytes":{bytes},"droppedBytes":0}},"lastOutputAtMs":null,"stdinOffset":0,"stdinOpen":false}}"#
        )
    }

    fn cancel(&self) -> String {
        self.cause.lock().expect("no panic").get_or_insert("manual-cancel");
        tenure_it::proc::send(self.root, rustix::process::Signal::TERM);
        r#"{"tell":"done"}"#.to_owned()
    }
}

/// A frame is two little-endian lengths, a head and a body.
fn receive(stream: &mut UnixStream) -> io::Result<Value> {
    let mut lengths = [0; 8];
    stream.read_exact(&mut lengths)?;
    let length = |at: usize| u32::from_le_bytes(lengths[at..at + 4].try_into().expect("four bytes")) as usize;
    let mut head = vec![0; length(0)];
    stream.read_exact(&mut head)?;
    stream.read_exact(&mut vec![0; length(4)])?;
    serde_json::from_slice(&head).map_err(io::Error::other)
}

fn send(stream: &mut UnixStream, head: &str) -> io::Result<()> {
    let length = u32::try_from(head.len()).expect("a short head");
    stream.write_all(&[&length.to_le_bytes()[..], &[0; 4], head.as_bytes()].concat())
}
