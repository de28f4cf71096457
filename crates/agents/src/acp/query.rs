//! Shows a session's ACP agent, and changes its settings.

use super::adapter::Adapter;
use super::updates::UpdateReceiver;
use crate::Agents;
use crate::acp::adapter_start;
use crate::acp::adapter_stop;
use crate::sessions::settings::Setting;
use std::sync::Arc;
use tenure_acp::open::{set_mode, set_option};
use tenure_core::session::{Backend, SessionKey};
use tenure_core::tools::sessions::{AdapterJson, Named};
use tenure_store::{Session, Side};
use tenure_supervisor::Refusal;

impl Agents {
    /// Subscribes to the updates of a session.
    pub fn follow_session(&self, key: &SessionKey) -> UpdateReceiver {
        self.adapters.updates.follow(key)
    }

    /// Returns the number of the last entry of a session; 0 if there is none.
    pub async fn newest_entry(&self, key: &SessionKey) -> Result<u64, Refusal> {
        let page = self.supervisor.registry.entries(key.clone(), Side::Before(u64::MAX), 1, 1).await?;
        Ok(page.entries.first().map_or(0, |entry| entry.number))
    }
}

/// Returns the public view of a session's live adapter.
pub(crate) async fn adapter_json(agents: &Agents, key: &SessionKey) -> Option<AdapterJson> {
    let talk = agents
        .supervisor
        .registry
        .last_talk(key.clone())
        .await
        .ok()
        .flatten()
        .filter(|talk| talk.over_at_ms.is_none())?;
    let abilities = adapter_stop::abilities_of(agents, key).await;
    let modes = abilities.modes.as_ref();
    let named =
        |mode: &tenure_acp::schema::SessionMode| Named { id: mode.id.0.to_string(), name: mode.name.clone() };
    Some(AdapterJson {
        run_id: talk.run,
        agent: abilities.name(),
        agent_session_id: talk.agent_session,
        resumes: abilities.outlives_its_process(),
        mode: modes.map(|modes| modes.current_mode_id.0.to_string()),
        modes: modes.iter().flat_map(|modes| &modes.available_modes).map(named).collect(),
        options: abilities.options.iter().filter_map(|option| serde_json::to_value(option).ok()).collect(),
    })
}

/// Changes a setting of an agent.
pub(crate) async fn adjust_agent(
    agents: &Arc<Agents>,
    setting: &Setting,
    session: Session,
) -> Result<(), Refusal> {
    let key = session.row.key.clone();
    if session.row.backend != Backend::Acp {
        return Err(Refusal::wrong_state(format!(
            "session {key} has no ACP agent, so it has no modes or options"
        )));
    }
    let adapter = adapter_start::ensure_adapter(agents, session).await?;
    let done = adjust_adapter(agents, setting, &key, &adapter).await?;
    done.map_err(|why| Refusal::wrong_state(format!("the agent of session {key} refuses the change: {why}")))
}

async fn adjust_adapter(
    agents: &Agents,
    setting: &Setting,
    key: &SessionKey,
    adapter: &Adapter,
) -> Result<Result<(), String>, Refusal> {
    let abilities = adapter_stop::abilities_of(agents, key).await;
    let done = match setting {
        Setting::Mode(mode) => set_mode(&adapter.handle, &abilities, &adapter.session, mode).await,
        Setting::Option { option, value } => {
            set_option(&adapter.handle, &abilities, &adapter.session, (option, value)).await
        }
    };
    done.map_err(|_| Refusal::wrong_state(format!("the adapter of session {key} has just exited: try again")))
}
