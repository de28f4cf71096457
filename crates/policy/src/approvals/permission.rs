//! Permission requests of agents: approval requests with options that the agent offers. Request and answer are recorded,
//! so the next daemon continues to wait for the answer, or finds it.

use super::without_question;
use crate::Approvals;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::api::{Approval, PermissionJson, ToolDetails};
use tenure_core::ids::RunId;
use tenure_core::session::SessionKey;
use tenure_core::visible::cut;
use tenure_store::{ApprovalRow, ApprovalState};
use tenure_supervisor::Refusal;
use tokio::time::sleep;

/// Pause before the registry is read again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Maximum number of attempts to find a request that is to be withdrawn.
const WITHDRAW_ATTEMPTS: usize = 10;

/// Maximum length of a text in the record of an answered request, in bytes.
const ANSWERED_TEXT_BYTES: usize = 4 << 10;

/// Record of an agent's permission request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Permission {
    /// The title of the agent's action.
    pub title: String,
    /// The working directory.
    pub cwd: String,
    /// The details for people.
    #[serde(default)]
    pub details: ToolDetails,
    /// The variables of a command. Their values are kept until the request is answered.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Names of the command's variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_names: Vec<String>,
    /// The options that the agent offers.
    pub options: Vec<PermissionJson>,
    /// The chosen option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
}

/// Answer to a permission request.
pub enum Choice<'a> {
    /// The first option of this kind.
    Like(ApprovalState),
    /// The option with this id.
    Option(&'a str),
}

impl Permission {
    /// Reads the permission request of a row. Returns `None` for commands.
    pub fn read(row: &ApprovalRow) -> Option<Self> {
        Self::of(&row.approval.asked)
    }

    /// Reads the permission request of a record. Returns `None` for commands.
    pub fn of(asked: &Value) -> Option<Self> {
        Self::deserialize(asked.get("permission")?).ok()
    }

    /// Returns the record of the request.
    pub fn recorded(&self) -> Value {
        json!({ "permission": self })
    }

    /// Returns the request as clients see it.
    pub fn shown(self, without: Approval) -> Approval {
        Approval {
            command: self.title,
            cwd: self.cwd,
            details: Some(self.details),
            env: if without.state == "pending" { self.env } else { BTreeMap::new() },
            env_names: self.env_names,
            why: "an agent asks before it does this".to_owned(),
            options: self.options,
            option: self.chosen,
            ..without
        }
    }

    /// Returns the record of an answered request: shortened, and without the values of variables.
    pub fn redacted(self) -> Value {
        let (title, details) =
            (cut(&self.title, ANSWERED_TEXT_BYTES).into_owned(), self.details.cut(ANSWERED_TEXT_BYTES));
        Self { title, details, env: BTreeMap::new(), ..self }.recorded()
    }

    /// Returns the option of a choice, and the resulting state of the request.
    fn choose(&self, choice: &Choice<'_>) -> Result<(Option<String>, ApprovalState), Refusal> {
        // An id that several options of different kinds share is ambiguous: the agent would choose its meaning.
        let is_one = |option: &PermissionJson| {
            self.options.iter().all(|other| other.id != option.id || other.kind == option.kind)
        };
        let of_kind = |kinds: &[&str]| {
            let is = |kind: &str, option: &&PermissionJson| option.kind == kind && is_one(option);
            let found = kinds.iter().find_map(|kind| self.options.iter().find(|option| is(kind, option)));
            found.map(|option| option.id.clone())
        };
        let offers = || self.options.iter().map(|option| option.id.as_str()).collect::<Vec<_>>().join(", ");
        match choice {
            Choice::Like(ApprovalState::AllowedOnce) => match of_kind(&["allow_once"]) {
                Some(id) => Ok((Some(id), ApprovalState::AllowedOnce)),
                None => Err(Refusal::invalid(format!(
                    "the agent offers no option to allow this once: choose one of {}",
                    offers()
                ))),
            },
            Choice::Like(ApprovalState::AllowedAlways) => match of_kind(&["allow_always"]) {
                Some(id) => Ok((Some(id), ApprovalState::AllowedAlways)),
                None => Err(Refusal::invalid(format!(
                    "the agent offers no option to allow this always: choose one of {}",
                    offers()
                ))),
            },
            // Without an option to reject, the request is cancelled.
            Choice::Like(_) => Ok((of_kind(&["reject_once", "reject_always"]), ApprovalState::Denied)),
            Choice::Option(id) => {
                let Some(option) = self.options.iter().find(|option| option.id == *id && is_one(option))
                else {
                    return Err(Refusal::invalid(format!(
                        "unknown option {id:?}: choose one of {}",
                        offers()
                    )));
                };
                let state = match option.kind.as_str() {
                    "allow_once" => ApprovalState::AllowedOnce,
                    "allow_always" => ApprovalState::AllowedAlways,
                    _ => ApprovalState::Denied,
                };
                Ok((Some(option.id.clone()), state))
            }
        }
    }
}

impl Approvals {
    /// Withdraws the permission requests of a session whose turn has ended.
    pub async fn withdraw_permissions(&self, key: &SessionKey) {
        let questions = self.own_questions().await.unwrap_or_else(|refusal| {
            tracing::warn!(session = %key, why = refusal.detail, "cannot withdraw permission requests: they stay open until they expire");
            Vec::new()
        });
        for row in questions {
            if row.approval.session.as_deref() == Some(key.as_str()) && Permission::read(&row).is_some() {
                // A person may answer the request meanwhile.
                let _ = self.record_answer(&row, ApprovalState::Denied, (Vec::new(), "the turn's end")).await;
            }
        }
    }

    /// Withdraws a request, because the agent has changed its subject.
    pub async fn withdraw_question(&self, id: &RunId) {
        // The request may not be recorded yet. If that takes too long, the end of the turn withdraws it.
        for _ in 0..WITHDRAW_ATTEMPTS {
            match self.supervisor.registry.approval(id.clone()).await {
                Ok(Some(row)) => {
                    let by = "the agent, which changed it";
                    let _ = self.record_answer(&row, ApprovalState::Denied, (Vec::new(), by)).await;
                    return;
                }
                Ok(None) | Err(_) => sleep(RETRY_PAUSE).await,
            }
        }
    }

    /// Returns the open permission requests of a session.
    pub async fn questions_of(&self, key: &SessionKey) -> Result<Vec<Approval>, Refusal> {
        let rows = self.asked_by(key).await?;
        let shown = |row: &ApprovalRow| Some(Permission::read(row)?.shown(without_question(row)));
        Ok(rows.iter().filter_map(shown).collect())
    }

    async fn asked_by(&self, key: &SessionKey) -> Result<Vec<ApprovalRow>, Refusal> {
        self.expire().await?;
        let rows = self.own_questions().await?;
        Ok(rows.into_iter().filter(|row| row.approval.session.as_deref() == Some(key.as_str())).collect())
    }

    /// Answers a session's permission request with one of its options.
    pub async fn answer_question(
        self: &Arc<Self>,
        key: &SessionKey,
        (question, option): (&str, &str),
        by: &str,
    ) -> Result<(), Refusal> {
        let rows = self.asked_by(key).await?;
        let mut meant = rows.iter().filter(|row| row.approval.id.as_str().starts_with(question));
        let (Some(row), None) = (meant.next(), meant.next()) else {
            return Err(Refusal::no_such_run(format!(
                "session {key} has no open request {question:?}: list requests with `status`"
            )));
        };
        let Some(permission) = Permission::read(row) else {
            return Err(Refusal::forbidden("this request is about a command: only a person can answer it"));
        };
        self.answer_permission(row, permission, &Choice::Option(option), by).await
    }

    /// Answers a permission request, once.
    pub(crate) async fn answer_permission(
        self: &Arc<Self>,
        row: &ApprovalRow,
        permission: Permission,
        choice: &Choice<'_>,
        by: &str,
    ) -> Result<(), Refusal> {
        let (chosen, state) = permission.choose(choice)?;
        let mut row = row.clone();
        row.approval.asked = Permission { chosen, ..permission }.recorded();
        self.record_answer(&row, state, (Vec::new(), by)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ApprovalState::{AllowedAlways, AllowedOnce, Denied};

    fn permission(options: &[(&str, &str)]) -> Permission {
        let option = |(id, kind): &(&str, &str)| PermissionJson {
            id: (*id).to_owned(),
            name: String::new(),
            kind: (*kind).to_owned(),
        };
        let options = options.iter().map(option).collect();
        Permission {
            title: String::new(),
            cwd: String::new(),
            details: ToolDetails::default(),
            env: BTreeMap::new(),
            env_names: Vec::new(),
            options,
            chosen: None,
        }
    }

    #[test]
    fn an_answer_is_the_first_option_of_its_kind_or_the_one_that_is_named() {
        let all = permission(&[
            ("a", "allow_always"),
            ("b", "allow_once"),
            ("c", "allow_once"),
            ("d", "reject_once"),
        ]);
        let chosen =
            |choice: Choice<'_>| all.choose(&choice).map(|(option, state)| (option.unwrap(), state)).unwrap();
        assert_eq!(chosen(Choice::Like(AllowedOnce)), ("b".to_owned(), AllowedOnce));
        assert_eq!(chosen(Choice::Like(AllowedAlways)), ("a".to_owned(), AllowedAlways));
        assert_eq!(chosen(Choice::Like(Denied)), ("d".to_owned(), Denied));
        assert_eq!(chosen(Choice::Option("c")), ("c".to_owned(), AllowedOnce));
        assert!(all.choose(&Choice::Option("e")).is_err());
    }

    #[test]
    fn an_option_that_means_yes_and_no_is_no_answer() {
        let both = permission(&[("x", "allow_once"), ("x", "reject_once"), ("y", "reject_always")]);
        assert!(both.choose(&Choice::Like(AllowedOnce)).is_err());
        assert!(both.choose(&Choice::Option("x")).is_err());
        assert_eq!(both.choose(&Choice::Like(Denied)).unwrap(), (Some("y".to_owned()), Denied));
    }

    #[test]
    fn what_is_not_offered_is_refused_and_a_refusal_can_always_be_given() {
        let one = permission(&[("b", "allow_once")]);
        assert!(one.choose(&Choice::Like(ApprovalState::AllowedAlways)).is_err());
        assert_eq!(one.choose(&Choice::Like(ApprovalState::Denied)).unwrap(), (None, ApprovalState::Denied));
    }
}
