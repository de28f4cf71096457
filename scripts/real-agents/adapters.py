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
    # Whether another process of it goes on with a conversation whatever became of the first.
    loads = True
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
    is_usual = False
    another_mode = "plan"
    # It loads a conversation that was begun in an earlier minute; otherwise it writes over what it is to load.
    loads = False

    def dressed(self, model, work):
        host = Gemini()
        host.path = self.path
        table, key = host.described(model, work)
        return table["env"], key


class OpencodeAdapter(Adapter):
    name, package, version = "opencode-acp", "opencode-ai", "1.18.33"
    program, agent, args = "opencode", "opencode", ("acp",)
    is_usual = False
    beside = ()
    # It is no script.
    _is_there = Host._is_there

    def adapted(self, model, work):
        env, key = self.dressed(model, work)
        return {"command": self.path, "args": list(self.args), "env": env}, key

    def dressed(self, model, work):
        config = os.path.join(work, "opencode.json")
        with open(config, "w", encoding="utf-8") as file:
            provider = {"anthropic": {"options": {"baseURL": f"{model}/v1"}}}
            quiet = {"autoupdate": False, "share": "disabled", "permission": {"edit": "ask"}}
            json.dump({"provider": provider, "model": "anthropic/claude-sonnet-4-5", **quiet}, file)
        off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
        env = {f"OPENCODE_DISABLE_{what}": "1" for what in off}
        # What it cannot install it does not try to get again and again.
        env["NPM_CONFIG_FETCH_RETRIES"] = "0"
        return {**env, "OPENCODE_CONFIG": config}, {"ANTHROPIC_API_KEY": "scripted"}


class QwenAdapter(Adapter):
    name, package, version = "qwen-acp", "@qwen-code/qwen-code", "0.24.4"
    program, agent, args = "qwen", "qwen", ("--acp", "--auth-type", "anthropic")
    is_usual = False
    another_mode, free_mode = "plan", "default"
    streams = False

    def dressed(self, model, work):
        env = {"ANTHROPIC_BASE_URL": model, "ANTHROPIC_MODEL": "scripted", "ANTHROPIC_API_KEY": "scripted"}
        return env, {}


ADAPTERS = [ClaudeAdapter(), CodexAdapter(), GeminiAdapter(), OpencodeAdapter(), QwenAdapter()]
