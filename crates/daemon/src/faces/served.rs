//! A daemon without processes, with its registry and router, and methods that send requests.

use crate::daemon::Daemon;
use crate::http;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use std::sync::Arc;
use tempfile::TempDir;
use tenure_core::ids::InstanceId;
use tenure_core::lease::Tenancy;
use tenure_keeper::state_root::StateRoot;
use tenure_mcp::Outflow;
use tenure_os::clock;
use tenure_settings::Settings;
use tenure_store::sqlite::Sqlite;
use tenure_store::{Home, Registry};
use tenure_supervisor::Requester;
use tenure_supervisor::Supervisor;
use tower::ServiceExt;

/// Start of the scripted history.
pub(super) const BEGAN: u64 = 1_700_000_000_000;
/// Time of the requests.
pub(super) const NOW: u64 = BEGAN + 3_600_000;
/// Timestamps from here on come from the clock, not from the script.
const REAL: u64 = BEGAN + 90 * 86_400_000;

/// The daemon of one test.
pub(super) struct Served {
    pub(super) daemon: Arc<Daemon>,
    pub(super) registry: Arc<dyn Registry>,
    router: Router,
    state: TempDir,
}

/// Id of the daemon's own installation.
pub(super) fn own_instance() -> InstanceId {
    InstanceId::from_random([0x11; 12])
}

/// Requester with an operator's rights.
pub(super) fn operator() -> Requester {
    Requester::Operator { about: "uid 1000".to_owned() }
}

impl Served {
    /// Creates a daemon with these settings and an empty registry. It is enrolled and may act.
    pub(super) async fn new(flags: &[(&str, &str)]) -> Self {
        let state = tempfile::tempdir().unwrap();
        let path = state.path().to_str().unwrap();
        // The lease outlasts the slowest machine's test.
        let flags = [&[("state", path), ("lease.ttl", "24h")], flags].concat();
        let settings = Settings::load_with(&flags, &|_| None).unwrap();
        let registry: Arc<dyn Registry> = Arc::new(Sqlite::open(&settings.database()).unwrap());
        let root = StateRoot::open(state.path()).unwrap();
        registry.settle_in(Home { instance: own_instance(), runs: root.path().join("runs") });
        registry.enrol(own_instance(), "host:/state".to_owned(), NOW + 30_000).await.unwrap();
        let mut tenancy = Tenancy::begin(1, settings.rhythm());
        let first = tenancy.next(clock::unix_ms());
        tenancy.renewed(first, clock::awake()).unwrap();
        let daemon = Daemon::new(Arc::new(Supervisor::new(
            settings,
            root,
            own_instance(),
            Arc::clone(&registry),
            tenancy,
        )));
        let daemon = Arc::new(daemon);
        let router = http::router(&daemon);
        Self { daemon, registry, router, state }
    }

    /// Sends a request as an operator.
    pub(super) async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        self.ask_as(&operator(), method, path, body).await
    }

    /// Sends a request as this requester.
    pub(super) async fn ask_as(
        &self,
        who: &Requester,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> (StatusCode, Value) {
        let body = body.map_or_else(Body::empty, |body| body.to_string().into());
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        self.send(request.body(body).unwrap(), who).await
    }

    /// Sends a prepared request as this requester.
    pub(super) async fn send(&self, mut request: Request<Body>, who: &Requester) -> (StatusCode, Value) {
        request.extensions_mut().insert(who.clone());
        request.extensions_mut().insert(http::Local);
        request.extensions_mut().insert(Outflow::default());
        self.send_bare(request).await
    }

    /// Sends a request without a requester.
    pub(super) async fn send_bare(&self, request: Request<Body>) -> (StatusCode, Value) {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// Replaces values that differ between test runs: the state root, and timestamps of the clock.
    pub(super) fn settled(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(text.replace(self.state.path().to_str().unwrap(), "/state")),
            Value::Number(number) if number.as_u64().is_some_and(is_of_the_clock) => NOW.into(),
            Value::Array(items) => items.into_iter().map(|item| self.settled(item)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(name, value)| (name, self.settled(value))).collect()
            }
            other => other,
        }
    }

    /// The JSON as indented text, with these values replaced.
    pub(super) fn text(&self, value: Value) -> String {
        serde_json::to_string_pretty(&self.settled(value)).unwrap()
    }
}

fn is_of_the_clock(number: u64) -> bool {
    (REAL..REAL * 2).contains(&number)
}
