//! The settings, for commands.

use crate::failure::Failure;
use tenure_keeper::state_root::StateRoot;
use tenure_os::filesystem;
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
    StateRoot::open(&settings.state)
        .map_err(|error| full_disk(settings).unwrap_or_else(|| Failure::refused(error)))
}

/// The error for a full disk, if the state root's disk is full.
pub(crate) fn full_disk(settings: &Settings) -> Option<Failure> {
    /// Free space below this is less than a database needs.
    const FULL: u64 = 64 << 10;
    let place = settings.state.ancestors().find(|place| place.exists())?;
    let (free, _) = filesystem::space(place).ok()?;
    (free < FULL).then(|| {
        Failure::refused(format!(
            "the disk of {} is full: make room there, or set TENURE_STATE to another disk",
            settings.state.display()
        ))
    })
}
