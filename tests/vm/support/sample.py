"""A sample console of a guest without problems. Tests break it in one place at a time."""
import json

from support import expected

PROCESSES = [(10, "sh", 52), (11, "dd", 20 * 1024 + 60), (12, "sleep", 48), (13, "sleep", 48)]  # pid, name, anon kB
FILE_KB, SIZE_KB = 1100, 2092


def _doctor(facts):
    named = {kind: {fact[len(kind) + 1:]: value for fact, value in facts.items() if fact.startswith(f"{kind} ")}
             for kind in ("finding", "hook")}
    return json.dumps({
        "works": True,
        "findings": [{"name": name, "present": value} for name, value in named["finding"].items()],
        "hooks": [{"signal": name.split()[0], "hook": name.split()[1], "program": value or None}
                  for name, value in named["hook"].items()]})


def _tick():
    kinds = {"anon": 21 << 20, "shmem": 0, "file": 4096, "kernel": 8192, "other": 0}
    return json.dumps({"memory": {"usage_bytes": sum(kinds.values()), "by_kind": kinds}, "processes": [
        {"pid": pid, "comm": comm, "rss_anon_bytes": anon * 1024, "rss_file_bytes": FILE_KB * 1024, "rss_shmem_bytes": 0,
         "virtual_bytes": SIZE_KB * 1024} for pid, comm, anon in PROCESSES]})


def _resident():
    return "\n".join(f"pid {pid}\nRss: {anon + FILE_KB} kB\nAnonymous: {anon} kB\nVmSize: {SIZE_KB} kB\nRssShmem: 0 kB"
                     for pid, _, anon in PROCESSES)


def _deaths(at_limit, of_host):
    return (f'memscope_oom_kills_total{{constraint="cgroup"}} {at_limit}\nmemscope_oom_kills_total{{constraint="host"}} {of_host}\n'
            f'memscope_oom_kills_total{{constraint="unknown"}} 0\n'
            f'memscope_deaths_total{{cause="oom_kill",sender="kernel"}} {at_limit + of_host}')


def _metrics(starts, exits, kills):
    living = (starts - exits) * SIZE_KB * 1024
    return (f'memscope_process_starts_total{{role="other"}} {starts}\nmemscope_process_exits_total{{role="other"}} {exits}\n'
            f'memscope_mapped_bytes_total{{call="brk"}} {living + exits}\nmemscope_mapped_bytes_total{{call="fork"}} {exits}\n'
            f'memscope_mapped_bytes_total{{call="exec"}} {exits}\nmemscope_unmapped_bytes_total{{call="exit"}} {3 * exits}\n'
            f'memscope_memory_events_total{{event="oom_kill"}} {kills}\nmemscope_events_dropped_total{{reason="ring_full"}} 0')


def _probes(facts):
    return "\n".join(f'memscope_probe_attached{{probe="{fact.removeprefix("hook ").replace(" ", "_")}"}} {int(bool(value))}'
                     for fact, value in facts.items() if fact.startswith("hook ") and fact.split()[1] not in ("gpu", "torch", "host_tensors"))


def console(machine, tests):
    facts = expected.expectations(machine)
    files = "\n".join(fact.removeprefix("file ") for fact, value in facts.items()
                      if value and fact.startswith(("file ", "event ")))
    sections = {
        "kernel": f"{machine.series}.0-1", "files": files, "doctor": _doctor(facts),
        "metrics-before": f"{_probes(facts)}\n{_metrics(4, 0, 0)}",
        "metrics-churned": f"{_deaths(0, 0)}\n{_metrics(25, 21, 0)}", "tick": _tick(), "resident": _resident(),
        "oom": f"status 137\n{_deaths(1, 0)}\n{_metrics(26, 22, 1)}",
        "host-oom": f"status 137\n{_deaths(1, 1)}\n{_metrics(27, 23, 2)}", "end": "status 0", "watched": "status 0",
        "tests": "\n".join(f"[       OK ] {test} (7 ms)" for test in tests),
        "warnings": "0", "status": "tests 0"}
    return "".join(f"\n::section {name} 1.5\n{text}\n" for name, text in sections.items()) + "\n::exit 0\n"


def image_facts(machine):
    return {fact: value for fact, value in expected.expectations(machine).items() if fact.startswith("type ")}
