//! The description of the tools for clients. `tools.json` has the present one.

mod fake;

use fake::{Fake, Log, Wire};
use serde_json::{Value, json};

async fn tools() -> Value {
    let mut wire = Wire::ready(Fake::new(&Log::new()), 1 << 16).await;
    wire.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    wire.receive().await["result"]["tools"].clone()
}

#[tokio::test]
async fn the_tools_are_as_written_down() {
    let now = serde_json::to_string_pretty(&tools().await).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools.json");
    if std::env::var_os("TENURE_BLESS").is_some() {
        std::fs::write(path, format!("{now}\n")).unwrap();
    }
    let known = std::fs::read_to_string(path).unwrap_or_default();
    assert!(known.trim_end() == now, "the tools changed; if that is meant, TENURE_BLESS=1 writes it down");
}

#[tokio::test]
async fn a_strict_client_finds_nothing_strange_in_the_schemas() {
    let tools = tools().await;
    for tool in tools.as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
    }
    let of = |name| tools.as_array().unwrap().iter().filter_map(move |tool| tool.get(name));
    for input in of("inputSchema").chain(of("outputSchema")) {
        assert_eq!(input["type"], "object");
        let text = input.to_string();
        for strange in [
            "$ref",
            "$defs",
            "$schema",
            "\"format\"",
            "\"null\"",
            "oneOf",
            "anyOf",
            "allOf",
            "\"const\"",
            "\"default\"",
        ] {
            assert!(!text.contains(strange), "{strange}: {text}");
        }
        for (name, property) in input["properties"].as_object().unwrap() {
            assert!(property["type"].is_string(), "{name}: {property}");
            assert!(
                property["description"].as_str().is_some_and(|about| !about.is_empty()),
                "{name} is not described"
            );
        }
    }
}

#[tokio::test]
async fn no_client_is_told_of_the_callers_process() {
    let tools = tools().await;
    assert!(tools[0]["inputSchema"]["properties"].get("process").is_none());
}
