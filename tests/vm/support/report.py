"""Writes the result of a run as JSON and as a table for the documentation."""
import json

WORDS = {True: "yes", False: "no", None: "?"}


def write(folder, results):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    (folder / "result.md").write_text(markdown(results), encoding="utf-8")


def markdown(results):
    """One row per machine: the machine, whether memscope works, and which BPF programs it uses."""
    rows = ["| kernel | architecture | cgroup | works | exits by | scan | quick scan | growth by | CUDA calls | tensors | PSI of the cgroup |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for result in results:
        facts = result["facts"]
        cells = [result["release"] or result["series"], result["arch"], f"v{result['cgroup']}",
                 "yes" if result["passed"] else "**no**"]
        cells += [f"`{facts[name]}`" if facts.get(name) else "no"
                  for name in ("hook tree exit", "hook tasks scan", "hook tasks quick_scan", "hook growth resident")]
        cells += [WORDS[bool(facts.get(name))] for name in ("finding CUDA calls", "finding tensors", "file memory.pressure")]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"
