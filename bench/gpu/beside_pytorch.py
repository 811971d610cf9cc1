"""Compares training with PyTorch on the same GPU; a part of scripts/gpu-check, which reports the results.

  beside_pytorch.py PART BIN FOLDER [KEY=VALUE]...     BIN: bench_training and dltrain; FOLDER: data, runs, logs

PART:
  prepare   fills torch.compile's caches for the other parts
  steps     whole steps on images in memory
  data      dltrain on files in CIFAR-10's format, resized, compared with a DataLoader on the same bytes
  start     from the start of the program to the end of its first step, with warm caches

Turns alternate: ours, each mode of PyTorch, ours, PyTorch's fastest mode. Ratios are of medians over all steps of both turns.
Every program has `seconds` per turn; a mode that fails or takes longer is skipped and named.

Output, for scripts/gpu-check: `{"name": ...}` a row of gpu-check.json, `table: ...` the same as text, `not measured: ...`.
Exit code: 0 all that this PyTorch supports was measured, 1 something failed. Keys and defaults: see DEFAULTS. Needs only
Python; without a PyTorch with CUDA the rows have our numbers only.
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

DEFAULTS = {
    "python": sys.executable,  # with PyTorch
    "device": "cuda",
    "precision": "bf16",
    "seconds": "100",
    "batch": "256",
    "steps": "20",  # after 5 warm-up steps
    "size": "224",  # of resnet50's images
    "classes": "1000",
    "resized": "128",  # CIFAR-10's images
    "images": "100000",  # enough that no epoch ends within the steps
    "workers": str(max(1, min(16, (os.cpu_count() or 2) - 1))),
    "data_steps": "150",
    "skipped": "20",  # warm-up steps
    "turns": "2",
}
HERE = os.path.dirname(os.path.abspath(__file__))
ASKED = {"steps": 1.15, "data": 1.3, "start": 0.3}
RECORD = 3073  # bytes of a CIFAR-10 image with its label


class Failed(Exception):
    """A program that failed, timed out, or gave no answer."""


class Part:
    def __init__(self, name, bin_folder, folder, options):
        self.name, self.bin, self.folder = name, bin_folder, os.path.abspath(folder)
        self.options, self.failed, self.runs = options, False, 0
        self.began = time.time()
        os.makedirs(self.folder, exist_ok=True)
        self.torch = self.ask_torch()

    def number(self, key):
        return int(self.options[key])

    def program(self, command, commands="", **environment):
        """Returns its output; it has a limited number of seconds."""
        self.runs += 1
        log = os.path.join(self.folder, f"{self.name}-{self.runs}.log")
        try:
            with open(log, "w") as errors:
                done = subprocess.run(
                    command, input=commands, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace",
                    timeout=self.number("seconds"), env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **environment),
                )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Failed(f"took longer than {self.options['seconds']} s, {log}") from None
        except OSError as problem:
            raise Failed(str(problem)) from None
        if done.returncode != 0:
            raise Failed(f"exit code {done.returncode}, {log}")
        return done.stdout

    def answer(self, command, commands=""):
        """Returns the last line of its output, parsed as JSON."""
        lines = self.program(command, commands).strip().splitlines()
        try:
            found = json.loads(lines[-1])
        except (IndexError, ValueError):
            found = None
        if not isinstance(found, dict):
            raise Failed(f"no answer: {lines[-1][:80] if lines else 'nothing'}")
        return found

    def torch_script(self, verb, **keys):
        arguments = [f"{key}={value}" for key, value in keys.items()]
        return [self.options["python"], os.path.join(HERE, "torch_steps.py"), verb] + arguments

    def ask_torch(self):
        """Returns what PyTorch supports; None, with a message, if it cannot be used."""
        try:
            found = self.answer(self.torch_script("about"))
            ways, version = [str(way) for way in found["ways"]], str(found["version"])
        except (Failed, KeyError, TypeError):
            return self.without(f"{self.options['python']} has no PyTorch")
        if self.options["device"] == "cuda" and not found.get("device"):
            return self.without(f"PyTorch {version} has no CUDA here")
        if "compile" not in ways:
            self.lacks("torch.compile", f"PyTorch {version} has none")
        return {"version": version, "ways": [way for way in ways if way != "eager"] or ["eager"]}

    def without(self, why):
        self.lacks("PyTorch on the same GPU", why)

    def lacks(self, what, why):
        if self.name != "prepare":
            print(f"not measured: {what}: {self.name} ({why})", flush=True)

    def fails(self, what, problem):
        self.failed = True
        print(f"{self.name}: {what}: {problem}", file=sys.stderr, flush=True)
        self.lacks(what, str(problem))

    def row(self, name, ours, theirs, unit, ratio, details):
        """`theirs` is by mode. Never `met` if a mode of PyTorch is missing: it might be the fastest."""
        asked = ASKED[self.name]
        small = self.name == "start"
        verdict = None
        if ratio is not None:
            verdict = "met" if (ratio <= asked if small else ratio >= asked) else "not met"
            if verdict == "met" and set(theirs) != set(self.torch["ways"]):
                verdict = "not settled"
        name += " / PyTorch"
        found = {"name": name, "value": ratio, "unit": "x", "asked": f"at {'most' if small else 'least'} {asked}"}
        found.update(verdict=verdict, ours=ours, pytorch=theirs, of_both=unit, details=details)
        if self.torch:
            found["pytorch_version"] = self.torch["version"]
        digits = 2 if small else 1
        beside = ", ".join(f"{way} {value:.{digits}f}" for way, value in theirs.items()) or "no PyTorch"
        told = "-" if ratio is None else f"{ratio:.3f} x"
        print(json.dumps(found))
        print(f"table: {name:38} {told:>9}  asked {found['asked']}: {verdict or 'not measured'}"
              f"  (ours {ours:.{digits}f} {unit}; {beside})", flush=True)  # fmt: skip


def step_seconds(found, wanted):
    """Returns the step times in an answer of bench_training or torch_steps.py."""
    try:
        seconds = [float(one) for one in found["step_s"]]
    except (KeyError, TypeError, ValueError):
        raise Failed(f"an answer without step_s: {str(found)[:80]}") from None
    if len(seconds) != wanted or not all(one > 0 for one in seconds):
        raise Failed(f"{len(seconds)} times of {wanted} steps")
    return seconds


def take_turns(part, ours, theirs):
    """Returns seconds: ours, and by mode. `ours()` and `theirs(way)` return those of one turn."""
    own, of_ways = [], {}
    ways = list(part.torch["ways"]) if part.torch else []
    for turn in range(part.number("turns")):
        own += ours()
        if turn == 1 and of_ways:
            ways = [min(of_ways, key=lambda way: statistics.median(of_ways[way]))]
        for way in ways:
            try:
                of_ways[way] = of_ways.get(way, []) + theirs(way)
            except Failed as problem:
                part.fails(f"PyTorch's {way}", problem)
    return own, of_ways


def report_rates(part, name, own, of_ways, batch, details):
    ours = batch / statistics.median(own)
    theirs = {way: batch / statistics.median(seconds) for way, seconds in of_ways.items()}
    ratio = ours / max(theirs.values()) if theirs else None
    part.row(name, ours, theirs, "images/s", ratio, details)


def of_resnet50(part):
    keys = ("batch", "size", "classes", "precision")
    return {"model": "resnet50", **{key: part.options[key] for key in keys}}


def of_cifar(part):
    keys = {"model": "resnet50v2", "classes": 10, "size": part.options["resized"]}
    return {**keys, "batch": part.options["batch"], "precision": part.options["precision"]}


def prepare(part):
    """Both at once, as compilation runs on CPUs."""
    if not part.torch or "compile" not in part.torch["ways"]:
        return
    device = part.options["device"]
    compiling = [
        subprocess.Popen(part.torch_script("first", way="compile", device=device, **keys))
        for keys in (of_resnet50(part), of_cifar(part))
    ]
    for one in compiling:
        left = part.began + part.number("seconds") - time.time()
        try:
            part.failed |= one.wait(timeout=max(left, 0.1)) != 0
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()
            part.failed = True


def steps(part):
    keys, wanted = of_resnet50(part), part.number("steps")
    commands = f"5\n{wanted}\n"
    backend = "cuda" if part.options["device"] == "cuda" else "auto"
    arguments = [f"{key}={value}" for key, value in keys.items()] + [f"threads={os.cpu_count() or 1}"]
    arguments += [f"backend={backend}"] if backend == "cuda" else []

    def ours():
        return step_seconds(part.answer([part.bin + "/bench_training"] + arguments, commands), wanted)

    def theirs(way):
        script = part.torch_script("steps", way=way, device=part.options["device"], **keys)
        return step_seconds(part.answer(script, commands), wanted)

    own, of_ways = take_turns(part, ours, theirs)
    report_rates(part, f"resnet50-{keys['size']}-{keys['precision']}", own, of_ways, part.number("batch"), keys)


def make_cifar(part):
    """Writes deterministic noise in CIFAR-10's format. Returns the folder."""
    folder, images = os.path.join(part.folder, "cifar10"), part.number("images")
    os.makedirs(folder, exist_ok=True)
    source = random.Random(1)
    for name, count in (("data_batch_1.bin", images), ("test_batch.bin", 10)):
        path = os.path.join(folder, name)
        if os.path.exists(path) and os.path.getsize(path) == count * RECORD:
            continue
        with open(path, "wb") as file:
            for first in range(0, count, 1000):
                some = min(1000, count - first)
                records = bytearray(source.randbytes(some * RECORD))
                records[::RECORD] = bytes(source.randrange(10) for _ in range(some))
                file.write(records)
    return folder


def train(part, keys):
    """Runs dltrain. Returns its start time and its events."""
    run = os.path.join(part.folder, f"run-{part.name}-{part.runs}-{os.getpid()}")
    os.makedirs(run, exist_ok=True)
    base = {"device": part.options["device"], "precision": part.options["precision"], "resume": "none"}
    base.update(batch_size=part.number("batch"), validate_every=0, reports={"tensorboard": False, "csv": False})
    base.update(checkpoint={"every_epochs": None}, epochs=1000)
    base.update(optimizer={"name": "sgd", "lr": 0.01, "momentum": 0.9, "weight_decay": 1e-4})
    with open(run + "/train.json", "w") as file:
        json.dump({**base, **keys}, file)
    began = time.time()
    part.program([part.bin + "/dltrain", "--config", run + "/train.json"])
    shutil.rmtree(run + "/checkpoints", ignore_errors=True)
    try:
        with open(run + "/events.jsonl") as file:
            events = [json.loads(line) for line in file]
        return began, [(event["step"], event["time"]) for event in events if event["event"] == "step"]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise Failed(f"dltrain left no events: {problem}") from None


def data(part):
    keys, folder = of_cifar(part), make_cifar(part)
    workers, wanted = part.number("workers"), part.number("data_steps")
    # At least as many as workers can prepare before the clock starts.
    skipped = max(part.number("skipped"), 2 * workers + 2)

    def ours():
        dataset = {"kind": "cifar10", "path": folder, "image_size": part.number("resized"), "workers": workers}
        asked = {"model": "resnet50v2", "dataset": dataset, "max_steps": skipped + wanted}
        _, told = train(part, asked)
        later = [one for one in told if one[0] >= skipped]
        if len(later) < 2 or later[-1][1] <= later[0][1]:
            raise Failed("dltrain told no steps")
        return [(later[-1][1] - later[0][1]) / (later[-1][0] - later[0][0])]

    def theirs(way):
        device = part.options["device"]
        script = part.torch_script("steps", way=way, device=device, data=folder, workers=workers, **keys)
        return [statistics.median(step_seconds(part.answer(script, f"{skipped}\n{wanted}\n"), wanted))]

    own, of_ways = take_turns(part, ours, theirs)
    name = f"resnet50v2-cifar10-{keys['size']}-{keys['precision']}"
    report_rates(part, name, own, of_ways, part.number("batch"), {**keys, "workers": workers})


def start(part):
    """The second step's event is a forward pass later than the end of the first, to our disadvantage."""
    keys, batch = of_resnet50(part), part.number("batch")
    images = {"kind": "synthetic", "images": 4 * batch, "channels": 3, "workers": part.number("workers")}
    images.update(image_size=part.number("size"), classes=part.number("classes"))

    def ours():
        began, told = train(part, {"model": "resnet50", "dataset": images, "max_steps": 2})
        second = [when for step, when in told if step == 2]
        if not second or second[0] <= began:
            raise Failed("dltrain told no second step")
        return [second[0] - began]

    def theirs(way):
        began = time.time()
        found = part.answer(part.torch_script("first", way=way, device=part.options["device"], **keys))
        if not isinstance(found.get("time"), (int, float)) or found["time"] <= began:
            raise Failed(f"an answer without time: {str(found)[:80]}")
        return [found["time"] - began]

    if part.torch:  # the target is the time with a warm cache of compiled code
        part.torch["ways"] = [way for way in part.torch["ways"] if way == "compile"] or part.torch["ways"][:1]
    cold = ours()[0]
    own, of_ways = take_turns(part, ours, theirs)
    mine = statistics.median(own)
    theirs_s = {way: statistics.median(seconds) for way, seconds in of_ways.items()}
    ratio = mine / min(theirs_s.values()) if theirs_s else None
    part.row("start-to-first-step", mine, theirs_s, "s", ratio, {**keys, "first_run_s": cold})


PARTS = {"prepare": prepare, "steps": steps, "data": data, "start": start}


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in PARTS:
        sys.exit(__doc__)
    options = dict(DEFAULTS)
    for word in sys.argv[4:]:
        key, equals, value = word.partition("=")
        if key not in options or not equals:
            sys.exit(f"no such option: {word}")
        options[key] = value
    part = Part(sys.argv[1], *sys.argv[2:4], options)
    try:
        PARTS[part.name](part)
    except Failed as problem:
        part.fails("ours", problem)
    sys.exit(1 if part.failed else 0)


if __name__ == "__main__":
    main()
