"""Calls the program dllaunch and reads its JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from typing import Any


class DllaunchError(Exception):
    """What dllaunch refused, or could not do.

    `id` is a word that `dllaunch explain` knows, `what` the fact, `hint` one thing to try (or ""). As text it is all that
    dllaunch wrote, with each mistake of a job file and its line.
    """

    def __init__(self, text: str, *, id: str, what: str, hint: str, exit_code: int) -> None:
        super().__init__(text)
        self.id = id
        self.what = what
        self.hint = hint
        self.exit_code = exit_code


def find_program() -> str:
    """The dllaunch of this Python environment, else the one on PATH."""
    scripts = sysconfig.get_path("scripts")
    found = shutil.which("dllaunch", path=scripts) or shutil.which("dllaunch")
    if found is None:
        raise DllaunchError(
            f"dllaunch is neither in {scripts} nor on PATH",
            id="unavailable",
            what="the program dllaunch is not installed",
            hint="put dllaunch on PATH, or install its wheel into this environment",
            exit_code=3,
        )
    return found


def call(*args: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON document that `dllaunch ARGS --json` prints."""
    ended = subprocess.run(
        [find_program(), *args, "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    try:
        document = json.loads(ended.stdout)
    except ValueError:
        document = None
    if ended.returncode == 0 and isinstance(document, dict):
        return document
    text = ended.stderr.strip() or f"dllaunch {args[0]} ended with code {ended.returncode}"
    error = document.get("error", {}) if isinstance(document, dict) else {}
    raise DllaunchError(
        text,
        id=error.get("id", ""),
        what=error.get("what", text),
        hint=error.get("hint", ""),
        exit_code=ended.returncode,
    )
