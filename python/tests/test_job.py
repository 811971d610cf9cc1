"""The package against the real program: on this machine, and on a real Slurm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dllaunch import DllaunchError, Job

SOURCE = Path(__file__).resolve().parents[2]
CLUSTER = SOURCE / "tests" / "cluster" / "cluster"
TRAINING: dict[str, Any] = {
    "name": "tiny",
    "resources": {"ranks_per_node": 1, "device": "cpu"},
    "train": {
        "model": "lenet",
        "dataset": {
            "kind": "synthetic", "images": 64, "classes": 10, "channels": 1, "image_size": 28,
        },
        "batch_size": 16,
        "epochs": 2,
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def command(words: str) -> Job:
    return Job(name="words", resources={"ranks_per_node": 1, "device": "cpu"}, run=["sh", "-c", words])


def test_keys_and_a_file_give_the_same_plan(workplace: Path) -> None:
    # As a file that dllaunch need not escape: 😀 is one character in YAML and two in JSON's escapes.
    file = workplace / "job.yaml"
    file.write_text('name: words\nresources: {ranks_per_node: 1, device: cpu}\nrun: [sh, -c, "echo 😀"]\n', "utf-8")
    plans = [job.plan(local=True) for job in (Job(file), Job(str(file)), command("echo 😀"))]
    assert plans[0]["ranks"] == 1
    texts = {json.dumps(plan, ensure_ascii=False).replace(plan["run_dir"], "") for plan in plans}
    assert len(texts) == 1
    assert "echo 😀" in texts.pop()
    assert not (workplace / "runs").exists()


def test_a_mistake_names_its_line_and_the_key() -> None:
    with pytest.raises(DllaunchError, match="job.yaml:3:2: error: unknown key 'rnu'") as caught:
        Job(name="a", rnu=["true"]).plan(local=True)
    assert caught.value.id == "bad_request"
    assert caught.value.exit_code == 2
    assert "error" in caught.value.what


def test_an_error_has_its_hint() -> None:
    with pytest.raises(DllaunchError) as caught:
        Job("no/such.yaml").plan()
    assert caught.value.hint == "give the path of a job file"
    assert "cannot read no/such.yaml" in str(caught.value)


@pytest.mark.parametrize("arguments", [((), {}), (("job.yaml",), {"name": "a"})])
def test_a_job_is_a_file_or_keys(arguments: tuple[tuple[str, ...], dict[str, str]]) -> None:
    with pytest.raises(TypeError):
        Job(*arguments[0], **arguments[1])


def test_a_job_that_was_not_submitted_has_no_status() -> None:
    with pytest.raises(RuntimeError, match="was not submitted"):
        command("true").status()


def test_a_program_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/no/such")
    monkeypatch.setattr("sysconfig.get_path", lambda name: "/no/such")
    with pytest.raises(DllaunchError, match="neither in /no/such nor on PATH"):
        command("true").plan()


def test_a_run_is_waited_for(workplace: Path) -> None:
    job = command("pwd > where")
    job.submit(local=True)
    status = job.wait(timeout=120)
    assert status["state"] == "completed"
    assert Path(job.run_dir).parent == workplace / "runs"
    assert (workplace / "where").read_text().strip() == str(workplace)


def test_waiting_ends_and_the_run_goes_on_until_it_is_cancelled(workplace: Path) -> None:
    job = command("sleep 600")
    job.submit(local=True, run_dir=workplace / "a run")
    assert job.run_dir == str(workplace / "a run")
    with pytest.raises(TimeoutError, match="is running after"):
        job.wait(timeout=0.2)
    job.cancel()
    assert job.wait(timeout=60)["state"] == "cancelled"


def test_a_failed_run_is_a_status() -> None:
    job = command("exit 7")
    job.submit(local=True)
    status = job.wait(timeout=120)
    assert status["state"] == "failed"
    assert "exited with code 7" in status["reason"]


def test_events_are_followed_to_the_end_of_a_training() -> None:
    job = Job(**TRAINING)
    job.submit(local=True)
    names = [event["event"] for event in job.events()]
    assert names[0] == "start"
    assert names.count("epoch") == 2
    assert names[-1] == "end"
    assert job.status()["over"]


def test_events_come_one_by_one_and_half_a_line_is_none(workplace: Path) -> None:
    job = command("sleep 600")
    job.submit(local=True)
    path = Path(job.run_dir) / "events.jsonl"
    path.write_text('{"event": "a"}\n{"event": "half\n{"event": "b"}\n{"ev')
    events = job.events()
    assert [next(events), next(events)] == [{"event": "a"}, {"event": "b"}]
    with path.open("a") as file:
        file.write('ent": "c"}\n')
    assert next(events) == {"event": "c"}
    job.cancel(now=True)
    assert list(events) == []


@pytest.fixture
def cluster(workplace: Path) -> Iterator[list[str]]:
    """The words before a command that runs it on a login node."""
    check = subprocess.run([CLUSTER, "check"], capture_output=True, text=True)
    if check.returncode != 0:
        pytest.skip(check.stdout + check.stderr)
    folder = str(workplace / "cluster")
    up = [str(CLUSTER), "up", folder, "--owner", str(os.getpid()), "--share", str(workplace)]
    for path in os.environ["PATH"].split(":")[0], sys.prefix:
        up += ["--share", path]
    subprocess.run(up, check=True)
    yield [str(CLUSTER), "run", folder, "--"]
    subprocess.run([CLUSTER, "down", folder], check=True)


SLURM = """
import json, dllaunch
job = dllaunch.Job(name="two", resources={"nodes": 2, "ranks_per_node": 1, "device": "cpu", "time": "5m"},
                   run=["sh", "-c", "echo rank $RANK"])
try:
    dllaunch.Job(name="many", resources={"nodes": 99, "ranks_per_node": 1, "device": "cpu"}, run=["true"]).submit()
except dllaunch.DllaunchError as error:
    refused = error.id
plan = job.plan()
job.submit()
print(json.dumps([refused, plan["ranks"], job.wait(timeout=120)]))
"""


def test_a_job_on_slurm(cluster: list[str], workplace: Path) -> None:
    ended = subprocess.run(
        [*cluster, sys.executable, "-c", SLURM], stdout=subprocess.PIPE, check=True, cwd=workplace, text=True
    )
    refused, ranks, status = json.loads(ended.stdout.splitlines()[-1])
    assert refused == "nodes"
    assert ranks == 2
    assert status["state"] == "completed"
    assert status["launcher"] == "slurm"
