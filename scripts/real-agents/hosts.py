"""The MCP hosts: how each is installed, started without a network, and what it says about its MCP servers."""

import json
import os
import re
import subprocess

SERVER = "tenure"


class NotInstalled(Exception):
    """The host cannot be had here."""


class Host:
    """One host. Nothing of the user's own set-up reaches it: its home and environment are of the play's own."""

    name = package = version = program = ""
    # The packages that it needs beside its own.
    beside = ()
    # Whether it is tried where nobody names it.
    is_usual = True
    # What its log says once it has met the server.
    met = ""
    # Whether it prints an answer while it comes.
    streams = True

    def install(self, root):
        """Installs the pinned version, unless it is there."""
        prefix = os.path.join(root, f"{self.name}-{self.version}")
        self.path = os.path.join(prefix, "node_modules", ".bin", self.program)
        if self._is_there():
            return
        os.makedirs(prefix, exist_ok=True)
        package = f"{self.package}@{self.version}"
        npm = ["npm", "install", "--prefix", prefix, "--no-audit", "--no-fund", "--no-save", package, *self.beside]
        try:
            done = subprocess.run(npm, capture_output=True, text=True, timeout=600)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotInstalled(f"npm install {package}: {error}") from error
        if not self._is_there():
            said = [line for line in done.stderr.splitlines() if "warn" not in line] or ["it does not start"]
            raise NotInstalled(f"npm install {package} (exit code {done.returncode}): {said[0]}")

    def _is_there(self):
        try:
            done = subprocess.run([self.path, "--version"], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0 and self.version in done.stdout

    def plain(self, model, work):
        """What every host gets, and the daemon of a play that starts the agents. The model is its proxy as well, and refuses."""
        inherited = {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ}
        proxies = {name: model for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
        return {**inherited, **proxies, "HOME": work, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}

    def described(self, model, work):
        """What `[agents.NAME]` says beside the built-in description, and what the daemon's own environment has beside:
        the key goes that way."""
        raise NotImplementedError

    def served(self, tenure, work):
        """The arguments that give it Tenure's tools; nothing, if it is not tried with them."""
        return []

    def complaints(self, log):
        """The host's warnings and errors that have to do with MCP or a schema."""
        lines = re.findall(r"^.*\b(?:WARN|ERROR)\b.*$", log, re.MULTILINE)
        return [line for line in lines if re.search(r"\bmcp|_mcp|rmcp|tenure|schema", line, re.IGNORECASE)]


class Claude(Host):
    name, package, version, program = "claude", "@anthropic-ai/claude-code", "2.1.325", "claude"
    met = f'MCP server "{SERVER}": Successfully connected'

    def command(self, tenure, _model, work):
        return [self.path, "-p", "Play your part.", *self.served(tenure, work), "--debug-file", os.path.join(work, "debug")]

    def served(self, tenure, work):
        config = os.path.join(work, "mcp.json")
        with open(config, "w", encoding="utf-8") as file:
            env = {"TENURE_STATE": tenure.state}
            server = {"type": "stdio", "command": tenure.binary, "args": ["mcp"], "env": env}
            json.dump({"mcpServers": {SERVER: server}}, file)
        tools = ",".join(f"mcp__{SERVER}__{tool}" for tool in ("exec", "process", "sessions"))
        return ["--mcp-config", config, "--strict-mcp-config", "--allowedTools", tools]

    def environment(self, model, work):
        return {
            **self.plain(model, work),
            "ANTHROPIC_BASE_URL": model,
            "ANTHROPIC_API_KEY": "scripted",
            "CLAUDE_CONFIG_DIR": os.path.join(work, "config"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            "ENABLE_TOOL_SEARCH": "false",
            # Root may not skip permissions elsewhere.
            "IS_SANDBOX": "1",
            # The first request to the model has the tools already.
            "MCP_CONNECTION_NONBLOCKING": "false",
        }

    def described(self, model, work):
        plain = self.plain(model, work)
        env = {name: value for name, value in self.environment(model, work).items() if name not in plain}
        key = {"ANTHROPIC_API_KEY": env.pop("ANTHROPIC_API_KEY")}
        return {"command": self.path, "extra": ["--allowedTools", "Bash", "--strict-mcp-config"], "env": env}, key

    def log(self, work):
        with open(os.path.join(work, "debug"), encoding="utf-8") as file:
            return file.read()


class Codex(Host):
    name, package, version, program = "codex", "@openai/codex", "0.166.0", "codex"
    met = f"mcp: {SERVER}/exec (completed)"
    streams = False

    def command(self, tenure, model, work):
        settings = self._overrides(self.provider(model))
        return [self.path, "exec", "--skip-git-repo-check", *settings, *self.served(tenure, work), "Play your part."]

    def served(self, tenure, _work):
        # Codex gives its servers a cleaned environment, so the state root has to be said here. It asks before a tool
        # that may destroy something, and nobody is there to answer.
        settings = {
            f"mcp_servers.{SERVER}.command": tenure.binary,
            f"mcp_servers.{SERVER}.args": ["mcp"],
            f"mcp_servers.{SERVER}.env.TENURE_STATE": tenure.state,
            f"mcp_servers.{SERVER}.default_tools_approval_mode": "approve",
            f"mcp_servers.{SERVER}.required": True,
        }
        return self._overrides(settings)

    def provider(self, model):
        return {
            "model": "scripted",
            "model_provider": "scripted",
            "model_providers.scripted.name": "scripted",
            "model_providers.scripted.base_url": f"{model}/v1",
            "model_providers.scripted.wire_api": "responses",
            "model_providers.scripted.env_key": "CODEX_SCRIPTED_KEY",
        }

    def _overrides(self, settings):
        return [word for key, value in settings.items() for word in ("-c", f"{key}={json.dumps(value)}")]

    def described(self, model, work):
        env = self.environment(model, work)
        bypass = "--dangerously-bypass-approvals-and-sandbox"
        extra = [bypass, *self._overrides(self.provider(model))]
        key = {"CODEX_SCRIPTED_KEY": env["CODEX_SCRIPTED_KEY"]}
        return {"command": self.path, "extra": extra, "env": {"CODEX_HOME": env["CODEX_HOME"]}}, key

    def environment(self, model, work):
        home = os.path.join(work, "config")
        os.makedirs(home, exist_ok=True)
        return {
            **self.plain(model, work),
            "CODEX_HOME": home,
            "CODEX_SCRIPTED_KEY": "scripted",
            "RUST_LOG": "info",
        }

    def log(self, work):
        with open(os.path.join(work, "stderr"), encoding="utf-8") as file:
            return file.read()


class Gemini(Host):
    """It is tried as an agent only."""

    name, package, version, program = "gemini", "@google/gemini-cli", "0.61.0", "gemini"

    def described(self, model, work):
        os.makedirs(os.path.join(work, ".gemini"), exist_ok=True)
        with open(os.path.join(work, ".gemini", "settings.json"), "w", encoding="utf-8") as file:
            quiet = {"general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False}}
            json.dump({"security": {"auth": {"selectedType": "gemini-api-key"}}, **quiet}, file)
        extra = ["--approval-mode", "yolo", "--skip-trust"]
        table = {"command": self.path, "extra": extra, "env": {"GOOGLE_GEMINI_BASE_URL": model}, "model": "scripted"}
        return table, {"GEMINI_API_KEY": "scripted"}


HOSTS = [Claude(), Codex()]
AGENTS = [*HOSTS, Gemini()]
