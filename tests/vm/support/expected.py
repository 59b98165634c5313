"""The features of a kernel as a flat {fact: value}, and the expected values from expected.toml."""
import tomllib

from support.kernels import HERE


def _table():
    return tomllib.loads((HERE / "expected.toml").read_text(encoding="utf-8"))


def events():
    """All tracepoints in expected.toml, for any kernel: `group/name`."""
    layers = [_table()["all"], *_table()["kernel"].values()]
    parts = [part for layer in layers for part in (layer, *(value for value in layer.values() if isinstance(value, dict)))]
    return sorted({fact.removeprefix("event ") for part in parts for fact in part if fact.startswith("event ")})


def expectations(machine):
    table = _table()
    merged = {}
    for layer in (table["all"], table["kernel"][machine.series]):
        for part in (layer, layer.get(machine.arch, {}), layer.get(f"v{machine.cgroup}", {})):
            merged |= {fact: value for fact, value in part.items() if not isinstance(value, dict)}
    if machine.cgroup == 1:
        merged |= table["all"]["v1"]  # v1 has its own files, independent of the kernel
    return merged


def facts_of(doctor, files):
    """From `memscope doctor --json` and the guest's list of files and events."""
    facts = {}
    if doctor is not None:
        facts["works"] = doctor["works"]
        facts |= {f"finding {finding['name']}": finding["present"] for finding in doctor["findings"]}
        facts |= {f"hook {hook['signal']} {hook['hook']}": hook["program"] or False for hook in doctor["hooks"]}
    facts |= {line if line.startswith("event ") else f"file {line}": True for line in files}
    return facts


def compare(machine, facts):
    """One check for each expectation, and one that fails if a hook or finding has no expectation."""
    wanted = expectations(machine)
    checks = []
    for fact, value in wanted.items():
        # A file or event that the guest does not list does not exist. A fact that doctor does not report is an error.
        got = facts.get(fact, False if fact.startswith(("file ", "event ")) else None)
        checks.append((fact, None if got == value else f"is {got}, must be {value}"))
    unknown = sorted(fact for fact in facts if fact.startswith(("hook ", "finding ", "type ")) and fact not in wanted)
    checks.append(("every hook and finding is expected", f"expected.toml does not know {unknown}" if unknown else None))
    return checks
