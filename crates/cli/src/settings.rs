//! Loads the settings for a command, and opens the state root.

use crate::failure::Failure;
use tenure_keeper::state_root::StateRoot;
use tenure_os::filesystem;
use tenure_os::stderr::complain;
use tenure_settings::{BadSettings, Settings};

/// Loads the settings for commands that start something. Refuses mistakes.
pub(crate) fn load() -> Result<Settings, Failure> {
    Settings::load(&[]).map_err(Failure::refused)
}

/// Loads the settings for commands that inspect, stop or repair. Reports a mistake and uses the valid settings; starts no
/// daemon then, because the daemon would refuse the same mistake.
pub(crate) fn load_leniently() -> Result<Settings, Failure> {
    let (mut settings, mut mistakes) = Settings::load_leniently().map_err(Failure::refused)?;
    if let Some(at) = mistakes.iter().position(BadSettings::is_without_file) {
        return Err(Failure::refused(mistakes.swap_remove(at)));
    }
    if let Some(first) = mistakes.first() {
        let more = match mistakes.len() - 1 {
            0 => String::new(),
            n => format!(" (and {n} more)"),
        };
        complain(format_args!(
            "{first}{more}; the other settings apply, and `tenure doctor` lists all mistakes"
        ));
        settings.autostart = false;
    }
    Ok(settings)
}

/// Opens the state root that the settings name.
pub(crate) fn state_root() -> Result<StateRoot, Failure> {
    open(&load_leniently()?)
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
            "the disk of {} is full: free some space, or set TENURE_STATE to a directory on another disk",
            settings.state.display()
        ))
    })
}
