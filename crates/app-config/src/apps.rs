//! The applications, and where each keeps its servers.

use crate::{Syntax, TablePath};
use std::path::{Path, PathBuf};

/// An application that starts stdio servers or agents.
#[derive(Debug, Clone, Copy)]
pub struct App {
    /// The name on the command line.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    user: fn(&Directories) -> PathBuf,
    project: &'static str,
    syntax: Syntax,
    tables: &'static [TablePath],
}

/// The directories of a user.
#[derive(Debug, Clone)]
pub struct Directories {
    /// The home directory.
    pub home: PathBuf,
    /// The directory of configuration files, as the system names it.
    pub config: PathBuf,
    /// The directory that `CLAUDE_CONFIG_DIR` names.
    pub claude: Option<PathBuf>,
    /// The directory that `CODEX_HOME` names.
    pub codex: Option<PathBuf>,
}

/// A configuration file of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// The file.
    pub path: PathBuf,
    /// Its language.
    pub syntax: Syntax,
    /// Its tables of servers and agents.
    pub tables: &'static [TablePath],
}

/// The applications in the order of the help.
pub const APPS: [App; 6] = [
    App {
        name: "claude",
        title: "Claude Code",
        user: |dirs| dirs.claude.as_ref().unwrap_or(&dirs.home).join(".claude.json"),
        project: ".mcp.json",
        syntax: Syntax::Json,
        tables: &[&["mcpServers"], &["projects", "*", "mcpServers"]],
    },
    App {
        name: "codex",
        title: "Codex",
        user: |dirs| dirs.codex.clone().unwrap_or_else(|| dirs.home.join(".codex")).join("config.toml"),
        project: ".codex/config.toml",
        syntax: Syntax::Toml,
        tables: &[&["mcp_servers"]],
    },
    App {
        name: "zed",
        title: "Zed",
        user: |dirs| dirs.config.join("zed/settings.json"),
        project: ".zed/settings.json",
        syntax: Syntax::Json,
        tables: &[&["context_servers"], &["agent_servers"]],
    },
    App {
        name: "cursor",
        title: "Cursor",
        user: |dirs| dirs.home.join(".cursor/mcp.json"),
        project: ".cursor/mcp.json",
        syntax: Syntax::Json,
        tables: &[&["mcpServers"]],
    },
    App {
        name: "vscode",
        title: "Visual Studio Code",
        user: |dirs| dirs.config.join("Code/User/mcp.json"),
        project: ".vscode/mcp.json",
        syntax: Syntax::Json,
        tables: &[&["servers"]],
    },
    App {
        name: "gemini",
        title: "Gemini CLI",
        user: |dirs| dirs.home.join(".gemini/settings.json"),
        project: ".gemini/settings.json",
        syntax: Syntax::Json,
        tables: &[&["mcpServers"]],
    },
];

impl App {
    /// Finds an application by its name.
    pub fn named(name: &str) -> Option<&'static App> {
        APPS.iter().find(|app| app.name == name)
    }

    /// Returns the user's file.
    pub fn user_file(&self, directories: &Directories) -> ConfigFile {
        self.file((self.user)(directories))
    }

    /// Returns the file of the project in a directory.
    pub fn project_file(&self, directory: &Path) -> ConfigFile {
        self.file(directory.join(self.project))
    }

    fn file(&self, path: PathBuf) -> ConfigFile {
        ConfigFile { path, syntax: self.syntax, tables: self.tables }
    }
}
