//! The description of the API agrees with the API.

use serde_json::Value;
use std::collections::BTreeSet;
use tenure_it::api::Api;
use tenure_it::install::Install;

/// The routes that CONTRACT promises, and those of operators beside them.
const ROUTES: [(&str, &str); 39] = [
    ("get", "/v1/health"),
    ("get", "/v1/runs"),
    ("post", "/v1/runs"),
    ("get", "/v1/runs/{id}"),
    ("delete", "/v1/runs/{id}"),
    ("post", "/v1/runs/{id}/cancel"),
    ("post", "/v1/runs/{id}/stdin"),
    ("post", "/v1/runs/{id}/keys"),
    ("post", "/v1/runs/{id}/paste"),
    ("post", "/v1/runs/{id}/submit"),
    ("post", "/v1/runs/{id}/resize"),
    ("post", "/v1/runs/{id}/wait"),
    ("get", "/v1/runs/{id}/output"),
    ("get", "/v1/runs/{id}/screen"),
    ("get", "/v1/runs/{id}/tree"),
    ("get", "/v1/runs/{id}/why"),
    ("get", "/v1/runs/{id}/attach"),
    ("get", "/v1/sessions"),
    ("post", "/v1/sessions"),
    ("get", "/v1/sessions/{key}"),
    ("get", "/v1/sessions/{key}/history"),
    ("post", "/v1/sessions/{key}/send"),
    ("post", "/v1/sessions/{key}/wait"),
    ("post", "/v1/sessions/{key}/cancel"),
    ("post", "/v1/sessions/{key}/close"),
    ("get", "/v1/tasks"),
    ("post", "/v1/tasks"),
    ("get", "/v1/tasks/audit"),
    ("post", "/v1/tasks/maintenance"),
    ("get", "/v1/tasks/{lookup}"),
    ("post", "/v1/tasks/{lookup}/notify"),
    ("post", "/v1/tasks/{lookup}/cancel"),
    ("post", "/v1/tasks/{lookup}/retry"),
    ("get", "/v1/events"),
    ("get", "/metrics"),
    ("get", "/openapi.json"),
    ("post", "/v1/cancel"),
    ("post", "/v1/reap"),
    ("post", "/v1/backup"),
];

fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().expect("paths");
    let of_path = |(path, item): (&String, &Value)| {
        let item = item.as_object().expect("an item").clone();
        let path = path.clone();
        item.into_iter().map(move |(method, operation)| (method, path.clone(), operation))
    };
    paths.iter().flat_map(of_path).collect()
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.push(reference.clone());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_description_is_complete() {
    let install = Install::new().with_daemon();
    let document = Api::of(&install).get("/openapi.json").is(200).json();
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1")));
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 20, "{found:?}");
    for reference in found {
        let pointer = reference.strip_prefix('#').expect("in this document");
        assert!(document.pointer(pointer).is_some(), "{reference} has no target");
    }
    let mut names = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let name = operation["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path} has no name"));
        assert!(names.insert(name.to_owned()), "{name} occurs twice");
        assert!(operation["summary"].is_string() || operation["description"].is_string(), "{method} {path}");
        let responses = operation["responses"].as_object().expect("responses");
        for (status, response) in responses.iter().filter(|(status, _)| matches!(&status[..1], "4" | "5")) {
            let schema = &response["content"]["application/problem+json"]["schema"]["$ref"];
            assert_eq!(schema, "#/components/schemas/Problem", "{method} {path} {status}: {response}");
        }
        let plain = ["/v1/health", "/openapi.json"].contains(&path.as_str());
        assert!(plain || responses.keys().any(|status| status.starts_with('4')), "{method} {path}");
        let inner: Vec<_> =
            path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        for name in inner {
            let parameters = operation["parameters"].as_array().expect("parameters");
            assert!(
                parameters.iter().any(|one| one["name"] == name && one["in"] == "path"),
                "{method} {path}"
            );
        }
    }
}

#[test]
fn every_documented_route_exists_and_every_promised_one_is_documented() {
    let install = Install::new().with_daemon();
    let api = Api::of(&install);
    let document = api.get("/openapi.json").is(200).json();
    let described: BTreeSet<(String, String)> =
        operations(&document).into_iter().map(|(method, path, _)| (method, path)).collect();
    for (method, path) in ROUTES {
        assert!(
            described.contains(&(method.to_owned(), path.to_owned())),
            "{method} {path} is not described"
        );
    }
    for (method, path) in described {
        if path == "/v1/shutdown" {
            continue;
        }
        let at = path.replace("{id}", "0000dead").replace("{lookup}", "0000dead");
        let at = at.replace("{key}", "agent:nobody:1");
        let at = if path == "/v1/events" { format!("{at}?follow=false") } else { at };
        let answer = api.ask(&method.to_uppercase(), &at, &[], b"{}");
        let code = answer.json_or_null()["code"].clone();
        assert!(code != "no-such-route" && answer.head.status != 405, "{method} {path}: {}", answer.text());
        assert!(answer.head.status < 500, "{method} {path}: {}", answer.text());
    }
    assert_eq!(install.runs(), [""; 0]);
}
