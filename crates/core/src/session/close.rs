//! The sessions that end with a session. Two rows must agree: a child is ended if its own fields agree and its
//! lineage continues its parent's. A session that claims to be below and cannot prove it is left alone and named.
//! So is a session of another installation, because its processes are not ours to end.

use super::key::SessionKey;
use super::row::{Disagreement, SessionRow};
use super::words::SessionState;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The plan for closing a session.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Closing {
    /// The sessions to end, in this order: children first, the session itself last. Closed sessions are not in it.
    pub order: Vec<SessionKey>,
    /// The sessions that claim to be below and are not ended, by key.
    pub left: Vec<LeftAlone>,
}

/// A session that is not ended although it names one that is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftAlone {
    /// The session.
    pub key: SessionKey,
    /// The disagreement in its row.
    pub why: Disagreement,
}

/// Returns the plan for closing the session `key`. `rows` are its row and all rows that name it in any field; more
/// do no harm. The session itself is ended because that was requested; the others only because they are proven to
/// be below it.
pub fn close_order(rows: &[SessionRow], key: &SessionKey) -> Closing {
    let by_key: BTreeMap<_, _> = rows.iter().map(|row| (&row.key, row)).collect();
    let below = proven(&by_key, key);
    let mut order: Vec<_> =
        below.iter().map(|key| by_key[*key]).filter(|row| row.state != SessionState::Closed).collect();
    // A child's lineage is its parent and its parent's lineage, so the longest lineage comes first.
    order.sort_by(|a, b| b.lineage.len().cmp(&a.lineage.len()).then_with(|| a.key.cmp(&b.key)));
    let left = by_key
        .values()
        .filter(|row| row.state != SessionState::Closed && !below.contains(&row.key))
        .filter(|row| row.sources().any(|it| it == key || below.contains(it)))
        .map(|row| LeftAlone { key: row.key.clone(), why: doubt(row, &by_key, &below) })
        .collect();
    Closing { order: order.into_iter().map(|row| row.key.clone()).collect(), left }
}

/// Returns the session and every session that is proven to be below it.
fn proven<'a>(
    by_key: &BTreeMap<&'a SessionKey, &'a SessionRow>,
    key: &SessionKey,
) -> BTreeSet<&'a SessionKey> {
    let mut children: BTreeMap<&SessionKey, Vec<&SessionRow>> = BTreeMap::new();
    for row in by_key.values() {
        if let Some(parent) = &row.parent {
            children.entry(parent).or_default().push(row);
        }
    }
    let mut below = BTreeSet::new();
    let mut next: Vec<&SessionRow> = by_key.get(key).copied().into_iter().collect();
    while let Some(parent) = next.pop() {
        if below.insert(&parent.key) {
            let of_parent = children.get(&parent.key).into_iter().flatten();
            next.extend(of_parent.filter(|row| is_proven_child(row, parent)));
        }
    }
    below
}

/// Returns true if the rows prove that `row` is a child of `parent` in the same installation. So all sessions below
/// a session belong to the installation of the one that is closed.
fn is_proven_child(row: &SessionRow, parent: &SessionRow) -> bool {
    row.agrees_with_parent(parent).is_ok() && row.instance == parent.instance
}

/// Returns the reason why a row that names one of those below is not believed.
fn doubt(
    row: &SessionRow,
    by_key: &BTreeMap<&SessionKey, &SessionRow>,
    below: &BTreeSet<&SessionKey>,
) -> Disagreement {
    match (row.agrees(), row.parent.as_ref().and_then(|parent| by_key.get(parent))) {
        (Err(why), _) => why,
        (Ok(()), None) => Disagreement::ParentMissing,
        (Ok(()), Some(parent)) if !below.contains(&parent.key) => Disagreement::ParentNotBelow,
        (Ok(()), Some(parent)) => row.agrees_with_parent(parent).err().unwrap_or(Disagreement::OtherInstance),
    }
}
