//! The settings, for commands.

use crate::failure::Failure;
use tenure_keeper::state_root::StateRoot;
use tenure_settings::Settings;

/// Every setting.
pub(crate) fn load() -> Result<Settings, Failure> {
    Settings::load(&[]).map_err(Failure::refused)
}

/// Opens the state root that the settings name.
pub(crate) fn state_root() -> Result<StateRoot, Failure> {
    open(&load()?)
}

/// Opens the state root of these settings.
pub(crate) fn open(settings: &Settings) -> Result<StateRoot, Failure> {
    StateRoot::open(&settings.state).map_err(Failure::refused)
}
