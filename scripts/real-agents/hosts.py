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
    # What its log says once it has met the server.
    met = ""

    def install(self, root):
        """Installs the pinned version, unless it is there."""
        prefix = os.path.join(root, f"{self.name}-{self.version}")
        self.path = os.path.join(prefix, "node_modules", ".bin", self.program)
        if self._is_there():
            return
        os.makedirs(prefix, exist_ok=True)
        package = f"{self.package}@{self.version}"
        npm = ["npm", "install", "--prefix", prefix, "--no-audit", "--no-fund", "--no-save", package]
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

    def environment(self, model, work):
        """What every host gets. The model is its proxy as well, and refuses."""
        inherited = {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ}
        proxies = {name: model for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
        return {**inherited, **proxies, "HOME": work, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}

    def complaints(self, log):
        """The host's warnings and errors that have to do with MCP or a schema."""
        lines = re.findall(r"^.*\b(?:WARN|ERROR)\b.*$", log, re.MULTILINE)
        return [line for line in lines if re.search(r"\bmcp|_mcp|rmcp|tenure|schema", line, re.IGNORECASE)]


class Claude(Host):
    name, package, version, program = "claude", "@anthropic-ai/claude-code", "2.1.325", "claude"
    met = f'MCP server "{SERVER}": Successfully connected'

    def command(self, tenure, _model, work):
        config = os.path.join(work, "mcp.json")
        with open(config, "w", encoding="utf-8") as file:
            env = {"TENURE_STATE": tenure.state}
            server = {"type": "stdio", "command": tenure.binary, "args": ["mcp"], "env": env}
            json.dump({"mcpServers": {SERVER: server}}, file)
        tools = ",".join(f"mcp__{SERVER}__{tool}" for tool in ("exec", "process", "sessions"))
        return [
            self.path, "-p", "Play your part.", "--mcp-config", config, "--strict-mcp-config",
            "--allowedTools", tools, "--debug-file", os.path.join(work, "debug"),
        ]  # fmt: skip

    def environment(self, model, work):
        return {
            **super().environment(model, work),
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

    def log(self, work):
        with open(os.path.join(work, "debug"), encoding="utf-8") as file:
            return file.read()


class Codex(Host):
    name, package, version, program = "codex", "@openai/codex", "0.166.0", "codex"
    met = f"mcp: {SERVER}/exec (completed)"

    def command(self, tenure, model, work):
        # Codex gives its servers a cleaned environment, so the state root has to be said here. It asks before a tool
        # that may destroy something, and nobody is there to answer.
        settings = {
            "model": "scripted",
            "model_provider": "scripted",
            "model_providers.scripted.name": "scripted",
            "model_providers.scripted.base_url": f"{model}/v1",
            "model_providers.scripted.wire_api": "responses",
            "model_providers.scripted.env_key": "SCRIPTED_KEY",
            f"mcp_servers.{SERVER}.command": tenure.binary,
            f"mcp_servers.{SERVER}.args": ["mcp"],
            f"mcp_servers.{SERVER}.env.TENURE_STATE": tenure.state,
            f"mcp_servers.{SERVER}.default_tools_approval_mode": "approve",
            f"mcp_servers.{SERVER}.required": True,
        }
        overrides = [word for key, value in settings.items() for word in ("-c", f"{key}={json.dumps(value)}")]
        return [self.path, "exec", "--skip-git-repo-check", *overrides, "Play your part."]

    def environment(self, model, work):
        home = os.path.join(work, "config")
        os.makedirs(home, exist_ok=True)
        return {
            **super().environment(model, work),
            "CODEX_HOME": home,
            "SCRIPTED_KEY": "scripted",
            "RUST_LOG": "info",
        }

    def log(self, work):
        with open(os.path.join(work, "stderr"), encoding="utf-8") as file:
            return file.read()


HOSTS = [Claude(), Codex()]
