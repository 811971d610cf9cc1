# Run by dllaunch (launcher/sweep/optuna_sampler.cpp) with a JSON object: sampler, seed and, to add a
# trial, study and space; then with the journal's path. Without one it only checks that the sampler is there.
import inspect
import json
import sys

request = json.loads(sys.argv[1])
try:
    import optuna
except ImportError as problem:
    sys.exit(f"{sys.executable} has no Optuna ({problem})")
kind = getattr(optuna.samplers, request["sampler"], None)
if kind is None:
    sys.exit(f"Optuna {optuna.__version__} has no such sampler")
space = {
    name: optuna.distributions.json_to_distribution(text) for name, text in request.get("space", {}).items()
}
options = {}
if "seed" in inspect.signature(kind).parameters:
    options["seed"] = request["seed"]
try:
    sampler = kind(**options)
except TypeError as problem:
    sys.exit(f"it needs more than a seed ({problem})")
if len(sys.argv) > 2:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(sys.argv[2]))
    study = optuna.load_study(study_name=request["study"], storage=storage, sampler=sampler)
    study.ask(space)
