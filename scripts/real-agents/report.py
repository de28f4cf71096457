"""What is printed: a line per scenario, and a closing line."""

import time
from contextlib import contextmanager


class Failed(Exception):
    """What was expected is not so."""


def expect(what, holds, seen):
    if not holds:
        raise Failed(f"{what}; seen: {seen}")


class Report:
    def __init__(self):
        self.scenarios = 0
        self.failed = 0
        self.skipped = 0

    @contextmanager
    def scenario(self, host, name):
        """A scenario that fails is told and counted, and the rest goes on."""
        began = time.monotonic()
        why = None
        try:
            yield
        except Exception as error:  # noqa: BLE001: whatever went wrong, it is this scenario that failed
            why = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
        except GeneratorExit:
            why = "the host left in the middle of it"
            raise
        except BaseException:
            why = "interrupted"
            raise
        finally:
            self.scenarios += 1
            self.failed += why is not None
            took = f"({time.monotonic() - began:.1f} s)"
            say(f"ok  {host}: {name} {took}" if why is None else f"FAILED  {host}: {name} {took}: {why}")

    def skip(self, host, why):
        self.skipped += 1
        say(f"SKIPPED  {host}: {why}")

    def close(self):
        """The closing line. Whether all is well: nothing failed, and something was tried."""
        skipped = f", {self.skipped} hosts skipped" if self.skipped else ""
        say(f"{self.scenarios} scenarios, {self.failed} failed{skipped}")
        return self.failed == 0 and self.scenarios > 0


def say(line):
    print(line, flush=True)
