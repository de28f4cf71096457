//! The keys of sessions, as far as Tenure reads them: it is the gateway that gives them.

/// The agent whose session this is: sessions of agents are called `agent:<name>` or `agent:<name>:…`.
pub fn agent_of(key: &str) -> Option<&str> {
    let name = key.strip_prefix("agent:")?.split(':').next()?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_named_by_its_sessions() {
        for (key, agent) in [
            ("agent:a:main", Some("a")),
            ("agent:a:sub:b", Some("a")),
            ("agent:a:", Some("a")),
            ("agent:a", Some("a")),
            ("agent:", None),
            ("agent::main", None),
            ("agents:a:main", None),
            ("cli:1", None),
            ("", None),
        ] {
            assert_eq!(agent_of(key), agent, "{key:?}");
        }
    }
}
