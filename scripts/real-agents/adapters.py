"""The ACP adapters: how each is installed, and how Tenure is told to start it without a network."""

import json
import os
import subprocess

from hosts import Claude, Codex, Gemini, Host

# The adapters need a newer Node than many machines have; npm has one.
NODE = "26.10.0"


class Adapter(Host):
    """An adapter of one of the agents that Tenure has a description of."""

    beside = (f"node@{NODE}",)
    # What Tenure calls the agent.
    agent = ""
    # What follows its program's name.
    args = ()
    # The mode in which it works, another one, and the one in which it asks before it writes; if it has such.
    another_mode = free_mode = asking_mode = None
    # Whether it ends the process group of its tool's shell when the shell has ended.
    ends_groups = False

    @property
    def _bin(self):
        return os.path.dirname(self.path)

    def _is_there(self):
        node = os.path.join(self._bin, "node")
        manifest = os.path.join(os.path.dirname(self._bin), *self.package.split("/"), "package.json")
        try:
            with open(manifest, encoding="utf-8") as file:
                version = json.load(file)["version"]
            done = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return False
        return version == self.version and done.stdout.strip() == f"v{NODE}" and os.access(self.path, os.X_OK)

    def adapted(self, model, work):
        """What `[agents.NAME.acp]` says beside the built-in description, and what the daemon's own environment has
        beside."""
        env, key = self.dressed(model, work)
        table = {"command": os.path.join(self._bin, "node"), "args": [os.path.realpath(self.path), *self.args]}
        mode = {"mode": self.free_mode} if self.free_mode else {}
        return {**table, **mode, "env": env}, key

    def dressed(self, model, work):
        """The environment of the adapter and of the daemon."""
        raise NotImplementedError


class ClaudeAdapter(Adapter):
    name, package, version = "claude-acp", "@agentclientprotocol/claude-agent-acp", "0.99.1"
    program, agent = "claude-agent-acp", "claude"
    another_mode = "plan"

    def dressed(self, model, work):
        host = Claude()
        host.path = self.path
        table, key = host.described(model, work)
        return table["env"], key


class CodexAdapter(Adapter):
    name, package, version = "codex-acp", "@agentclientprotocol/codex-acp", "2.6.0"
    program, agent = "codex-acp", "codex"
    another_mode, free_mode, asking_mode = "workspace-write", "agent-full-access", "read-only"
    ends_groups = True

    def dressed(self, model, work):
        # A model that it does not know has it warn in the answer.
        settings = {**Codex().provider(model), "model": "gpt-5.5"}
        env = Codex().environment(model, work)
        with open(os.path.join(env["CODEX_HOME"], "config.toml"), "w", encoding="utf-8") as file:
            file.writelines(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
        key = {"CODEX_SCRIPTED_KEY": env["CODEX_SCRIPTED_KEY"]}
        return {"CODEX_HOME": env["CODEX_HOME"]}, key


class GeminiAdapter(Adapter):
    name, package, version = "gemini-acp", Gemini.package, Gemini.version
    program, agent, args = "gemini", "gemini", ("--acp", "--model", "scripted", "--skip-trust")

    def dressed(self, model, work):
        host = Gemini()
        host.path = self.path
        table, key = host.described(model, work)
        return table["env"], key


ADAPTERS = [ClaudeAdapter(), CodexAdapter(), GeminiAdapter()]
