//! Snapshots of runs, sessions and tasks as JSON. The CLI's tests print them.

use super::album;
use super::history::{CHILD, MAIN};
use super::samples::{run_id, task_id};
use super::served::Served;
use axum::http::StatusCode;

#[tokio::test(flavor = "multi_thread")]
async fn runs_sessions_and_tasks_are_shown_as_they_were() {
    let served = Served::with_history(&[]).await;
    let [live, ended, foreign, starting] =
        [1, 14, 21, 4].map(|number| format!("/v1/runs/{}", run_id(number)));
    let why = format!("{ended}/why");
    let [child, main] = [CHILD, MAIN].map(|key| format!("/v1/sessions/{key}"));
    let history = format!("{child}/history");
    let [running, told, retried, given_up] =
        [1, 10, 11, 12].map(|number| format!("/v1/tasks/{}", task_id(number)));
    let turn = format!("/v1/tasks/{}", task_id(35));
    let looks = [
        ("runs", "/v1/runs?all=true"),
        ("run-live", &live),
        ("run-starting", &starting),
        ("run-ended", &ended),
        ("run-foreign", &foreign),
        ("why", &why),
        ("sessions", "/v1/sessions"),
        ("session", &child),
        ("session-main", &main),
        ("history", &history),
        ("tasks", "/v1/tasks"),
        ("task-of-a-run", &running),
        ("task-told", &told),
        ("task-retried", &retried),
        ("task-given-up", &given_up),
        ("task-of-a-turn", &turn),
    ];
    let mut album = album("records");
    for (name, path) in looks {
        let (status, answer) = served.ask("GET", path, None).await;
        assert_eq!(status, StatusCode::OK, "{path}: {answer}");
        album.check(name, &served.text(answer));
    }
    album.close();
}
