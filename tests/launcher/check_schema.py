"""check_schema.py SCHEMA EXAMPLES JOBS: jsonschema over all job files, by folder."""
import json
import pathlib
import re
import sys

import jsonschema
import yaml


class Core(yaml.SafeLoader):
    """PyYAML with the scalars of YAML 1.2: 00:30:00 and yes are text."""


Core.yaml_implicit_resolvers = {}
for tag, pattern in [
    ("bool", r"^(true|True|TRUE|false|False|FALSE)$"),
    ("int", r"^([-+]?[0-9]+|0x[0-9a-fA-F]+)$"),
    ("float", r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$"),
    ("null", r"^(~|null|Null|NULL|)$"),
]:
    Core.add_implicit_resolver("tag:yaml.org,2002:" + tag, re.compile(pattern), None)
Core.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value, 16 if "0x" in node.value else 10))

# What no schema can say, or what YAML itself refuses.
BEYOND_THE_SCHEMA = {
    "duplicate-keys",
    "compressed-doubles",
    "gpu-communicator",
    "half-precision",
    "init-from-two-places",
    "init-skip-alone",
    "masks-without-policy",
    "memory-twice",
    "policy-without-masks",
    "hold-array",
    "min-nodes",
    "node-range",
    "spare-nodes-without-restarts",
    "alias-in-itself",
    "train-in-a-container",
    "stall-after-abort",
    "keys-of-another-optimizer",
    "update-rule",
    "launcher-against-the-job",
    "correction-outside-momentum",
}

schema_path, examples, jobs = sys.argv[1:]
schema = json.loads(pathlib.Path(schema_path).read_text())
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
failures = 0


def load(path):
    return yaml.load(path.read_bytes().decode("utf-8-sig"), Loader=Core)


valid = sorted(pathlib.Path(examples).glob("*.yaml")) + sorted(pathlib.Path(jobs, "valid").glob("*.yaml"))
for path in valid:
    for error in validator.iter_errors(load(path)):
        failures += 1
        print(f"{path}: {error.message}")
for path in sorted(pathlib.Path(jobs, "invalid").glob("*.yaml")):
    if path.stem in BEYOND_THE_SCHEMA:
        continue
    try:
        document = load(path)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        continue
    if validator.is_valid(document):
        failures += 1
        print(f"{path}: the schema takes it")
print(f"{len(valid)} valid files checked")
sys.exit(1 if failures else 0)
