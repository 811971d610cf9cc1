"""A job: planned, started, followed and ended through the program dllaunch."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from .program import call


class Job:
    """A job file, or its keys: `Job("train.yaml")`, `Job(name="a", run=["hostname"])`.

    Relative paths in a job are relative to the folder in which the process is when it calls `plan` or `submit`.
    """

    def __init__(self, file: str | os.PathLike[str] | None = None, **keys: Any) -> None:
        if (file is None) == (not keys):
            raise TypeError("Job takes either the path of a job file or the keys of one")
        self._file = file
        # Every JSON document is YAML, but YAML has no surrogates, with which JSON escapes emoji.
        self._text = json.dumps(keys, indent=1, ensure_ascii=False, allow_nan=False)
        self._run_dir: str | None = None

    @property
    def run_dir(self) -> str:
        """The directory with all files of the run."""
        if self._run_dir is None:
            raise RuntimeError("the job was not submitted")
        return self._run_dir

    def plan(self, *, local: bool = False) -> dict[str, Any]:
        """Returns where each rank would run; starts nothing. `local`: on this machine, even if it has Slurm."""
        with self._job_file() as path:
            return call("plan", path, *_local(local))

    def submit(
        self, *, local: bool = False, run_dir: str | os.PathLike[str] | None = None
    ) -> None:
        """Submits the job to Slurm, or starts it here, and returns at once.

        With the `run_dir` of an earlier run, that run continues.
        """
        chosen = [] if run_dir is None else ["--run-dir", os.fspath(run_dir)]
        with self._job_file() as path:
            self._run_dir = call("run", path, "--detach", *_local(local), *chosen)["run_dir"]

    def status(self) -> dict[str, Any]:
        """Returns what `dllaunch status --json` prints; `state` and `over` among it."""
        return call("status", self.run_dir)

    def wait(self, timeout: float | None = None) -> dict[str, Any]:
        """Returns the status once the run is over, however it ended. Raises TimeoutError after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            status = self.status()
            if status["over"]:
                return status
            pause = _pause(status)
            if deadline is not None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"{self.run_dir} is {status['state']} after {timeout} s")
                pause = min(pause, left)
            time.sleep(pause)

    def events(self) -> Iterator[dict[str, Any]]:
        """Yields what `dllaunch help events` describes, as it happens; ends when the run is over."""
        path = os.path.join(self.run_dir, "events.jsonl")
        offset = 0
        ask_at = 0.0
        over = False
        while True:
            events, offset = _events_from(path, offset)
            yield from events
            if over:
                return
            if time.monotonic() >= ask_at:
                # Once more after the end: events may have been written since the last look.
                status = self.status()
                over = status["over"]
                ask_at = time.monotonic() + _pause(status)
            if not over:
                time.sleep(0.2)

    def cancel(self, *, now: bool = False) -> None:
        """Asks the ranks to save and stop, and waits for it; `now` does not wait for a checkpoint."""
        call("cancel", self.run_dir, *(["--now"] if now else []))

    @contextlib.contextmanager
    def _job_file(self) -> Iterator[str | os.PathLike[str]]:
        if self._file is not None:
            yield self._file
            return
        with tempfile.TemporaryDirectory(prefix="dllaunch-") as folder:
            path = os.path.join(folder, "job.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(self._text)
            yield path


def _local(local: bool) -> list[str]:
    return ["--local"] if local else []


def _pause(status: dict[str, Any]) -> float:
    """Seconds until the next look: thousands of users may wait, and Slurm's controller is asked rarely."""
    return 10.0 if status["launcher"] == "slurm" else 0.5


def _without_waiting(path: str, flags: int) -> int:
    """A pipe or a link may stand in the file's place."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)


def _events_from(path: str, offset: int) -> tuple[list[dict[str, Any]], int]:
    """The events from `offset` on that are complete, and where the next one begins."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            file.seek(offset)
            text = file.read()
    except OSError:
        return [], offset
    end = text.rfind(b"\n") + 1
    events = []
    for line in text[:end].splitlines():
        # A rank that was killed while it wrote leaves half a line.
        with contextlib.suppress(ValueError):
            events.append(json.loads(line))
    return events, offset + end
