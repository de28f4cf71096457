//! Snapshot of the `OpenAPI` document.

use super::album;
use serde_json::json;

#[test]
fn the_description_of_the_api_is_as_it_was() {
    let mut description = serde_json::to_value(crate::http::description()).unwrap();
    // The version changes with each release.
    description["info"]["version"] = json!("VERSION");
    let mut album = album("api");
    album.check("openapi.json", &serde_json::to_string_pretty(&description).unwrap());
    album.close();
}
