//! The locations of a user's files by the conventions of this system. The caller provides the variables, since it
//! may know others than this process has.

use crate::system;
use std::ffi::OsString;
use std::path::PathBuf;

/// The variables of a process.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The conventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(test), expect(dead_code, reason = "each system has one of them"))]
pub(crate) enum Custom {
    /// The XDG specification: state and configuration have separate directories.
    Xdg,
    /// macOS: `Application Support` in the library of the home.
    Library,
    /// Windows: data of one machine and one user.
    LocalData,
}

/// Returns the user's home.
pub fn home(variables: Variables<'_>) -> Option<PathBuf> {
    system::CUSTOM.home(variables)
}

/// Returns the variable that names the home.
pub fn home_variable() -> &'static str {
    system::CUSTOM.home_variable()
}

/// Returns the root of the file system, for use if nothing else is known.
pub fn top() -> &'static str {
    match system::CUSTOM {
        Custom::Xdg | Custom::Library => "/",
        Custom::LocalData => r"C:\",
    }
}

/// Returns the directory for state.
pub fn state(variables: Variables<'_>) -> Option<PathBuf> {
    system::CUSTOM.below(variables, "XDG_STATE_HOME", ".local/state")
}

/// Returns the directory for configuration.
pub fn config(variables: Variables<'_>) -> Option<PathBuf> {
    system::CUSTOM.below(variables, "XDG_CONFIG_HOME", ".config")
}

impl Custom {
    fn home_variable(self) -> &'static str {
        match self {
            Custom::Xdg | Custom::Library => "HOME",
            Custom::LocalData => "USERPROFILE",
        }
    }

    fn home(self, variables: Variables<'_>) -> Option<PathBuf> {
        directory(variables, self.home_variable())
    }

    /// Returns the directory for one kind of files.
    fn below(self, variables: Variables<'_>, xdg: &str, below_home: &str) -> Option<PathBuf> {
        let home = || self.home(variables);
        let above = match self {
            Custom::Xdg => directory(variables, xdg).or_else(|| Some(home()?.join(below_home))),
            Custom::Library => Some(home()?.join("Library/Application Support")),
            Custom::LocalData => {
                directory(variables, "LOCALAPPDATA").or_else(|| Some(home()?.join("AppData").join("Local")))
            }
        };
        above.map(|above| above.join("tenure"))
    }
}

/// Returns the directory that a variable names; a relative one is ignored, as the XDG specification says.
fn directory(variables: Variables<'_>, name: &str) -> Option<PathBuf> {
    variables(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(root: &str) -> PathBuf {
        std::path::absolute(root).unwrap()
    }

    fn state_of(custom: Custom, set: &[(&str, PathBuf)]) -> Option<PathBuf> {
        let variables =
            |name: &str| set.iter().find(|(its, _)| *its == name).map(|(_, value)| value.clone().into());
        custom.below(&variables, "XDG_STATE_HOME", ".local/state")
    }

    #[test]
    fn each_system_has_its_custom() {
        let home = ("HOME", at("/home/me"));
        let named = ("XDG_STATE_HOME", at("/x"));
        assert_eq!(
            state_of(Custom::Xdg, std::slice::from_ref(&home)),
            Some(at("/home/me/.local/state/tenure"))
        );
        assert_eq!(state_of(Custom::Xdg, &[home.clone(), named.clone()]), Some(at("/x/tenure")));
        let library = at("/home/me/Library/Application Support/tenure");
        assert_eq!(state_of(Custom::Library, &[home, named]), Some(library));
        let profile = ("USERPROFILE", at("/users/me"));
        assert_eq!(
            state_of(Custom::LocalData, std::slice::from_ref(&profile)),
            Some(at("/users/me").join("AppData").join("Local").join("tenure"))
        );
        let local = ("LOCALAPPDATA", at("/local"));
        assert_eq!(state_of(Custom::LocalData, &[profile, local]), Some(at("/local").join("tenure")));
    }

    #[test]
    fn a_relative_directory_is_none() {
        for (custom, name) in
            [(Custom::Xdg, "HOME"), (Custom::Library, "HOME"), (Custom::LocalData, "LOCALAPPDATA")]
        {
            assert_eq!(state_of(custom, &[(name, "relative".into())]), None, "{custom:?}");
            assert_eq!(state_of(custom, &[]), None, "{custom:?}");
        }
    }
}
