"""Checks the output of a guest. A check is (name, None or the problem)."""
import itertools
import json
import re

from support import expected


def _json(lines):
    for line in reversed(lines):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                return None
    return None


def _total(metrics, name, **labels):
    """The sum over all series that have these labels; None if there is no such series."""
    values = [value for key, value in metrics.get(name, {}).items() if set(labels.items()) <= set(key)]
    return sum(values) if values else None


def _alike(what, got, want):
    return None if got == want and got is not None else f"{what} is {got}, not {want}"


def _ended(output, stopped):
    if output.panic:
        return output.panic
    if stopped:
        return stopped
    if output.lines("failure"):
        return output.lines("failure")[0]
    if output.exit is None:
        return "no exit line: the guest died"
    return None if output.exit == 0 else f"it ended with {output.exit}"


def _kernel(machine, output):
    release = (output.lines("kernel") or ["nothing"])[0]
    return None if release.startswith(f"{machine.series}.") else f"it is {release}"


def _warnings(output):
    """The kernel must not warn about the programs and maps of memscope."""
    tainted, *said = output.lines("warnings") or ["no output"]
    return None if tainted == "0" and not said else f"tainted {tainted}: {'; '.join(said)}"


def _probes(output):
    """The programs that `doctor` chose must be attached, and no others. GPU programs are attached only if there is a GPU."""
    hooks = (_json(output.lines("doctor")) or {"hooks": []})["hooks"]
    chosen = {f"{hook['signal']}_{hook['hook']}": float(bool(hook["program"])) for hook in hooks
              if hook["signal"] not in ("gpu", "torch", "host_tensors")}
    attached = {dict(labels)["probe"]: value
                for labels, value in output.metrics("metrics-before").get("memscope_probe_attached", {}).items()}
    return _alike("what is attached", attached, chosen)


def _resident(output):
    """Compares the memory of each process, by kind, with its page tables."""
    tick = _json(output.lines("tick"))
    if tick is None:
        return "memscope printed no tick"
    by_pid = {process["pid"]: process for process in tick["processes"]}
    truth = {}
    for line in output.lines("resident"):
        if match := re.fullmatch(r"pid (\d+)", line):
            numbers = truth.setdefault(int(match[1]), {})
        elif match := re.fullmatch(r"(\w+):\s+(\d+) kB", line):
            numbers[match[1]] = int(match[2]) * 1024
    if set(by_pid) != set(truth) or len(truth) < 4:
        return f"memscope sees {sorted(by_pid)}, the cgroup has {sorted(truth)}"
    for pid, numbers in truth.items():
        process = by_pid[pid]
        kinds = {kind: process[f"rss_{kind}_bytes"] for kind in ("anon", "file", "shmem")}
        wrong = (_alike(f"anon of {process['comm']}", kinds["anon"], numbers.get("Anonymous"))
                 or _alike(f"shmem of {process['comm']}", kinds["shmem"], numbers.get("RssShmem"))
                 or _alike(f"RSS of {process['comm']}", sum(kinds.values()), numbers.get("Rss"))
                 or _alike(f"virtual size of {process['comm']}", process["virtual_bytes"], numbers.get("VmSize")))
        if wrong:
            return wrong
    if not any(numbers.get("Anonymous", 0) >= 20 << 20 for numbers in truth.values()):
        return "no process of the tree holds 20 MiB"
    return None


def _starts_and_exits(output):
    before, after = output.metrics("metrics-before"), output.metrics("metrics-churned")
    living = len((_json(output.lines("tick")) or {"processes": []})["processes"])
    for name in ("memscope_process_starts_total", "memscope_process_exits_total"):
        old, new = _total(before, name), _total(after, name)
        if old is None or new is None or new - old != 21:  # a shell and 20 of its children
            return f"{name} went from {old} to {new} while 21 processes came and went"
    balance = _total(after, "memscope_process_starts_total") - _total(after, "memscope_process_exits_total")
    return _alike("starts less exits", balance, living)


def _mapped(output):
    metrics = output.metrics("metrics-churned")
    tick = _json(output.lines("tick"))
    up, down = _total(metrics, "memscope_mapped_bytes_total"), _total(metrics, "memscope_unmapped_bytes_total")
    if tick is None or up is None or down is None:
        return "there are no mapped bytes"
    # A scan also counts mapped bytes, but does not know the call that mapped them. So the counters by call show whether the calls were seen.
    for name, call in (("mapped", "brk"), ("mapped", "fork"), ("mapped", "exec"), ("unmapped", "exit")):
        before, after = (_total(output.metrics(section), f"memscope_{name}_bytes_total", call=call)
                         for section in ("metrics-before", "metrics-churned"))
        if before is None or after is None or after <= before:
            return f"{name} by {call} went from {before} to {after} while 21 processes came and went"
    return _alike("mapped less unmapped", up - down, sum(process["virtual_bytes"] for process in tick["processes"]))


def _kinds(output):
    tick = _json(output.lines("tick"))
    if tick is None:
        return "memscope printed no tick"
    usage, kinds = tick["memory"]["usage_bytes"], tick["memory"]["by_kind"]
    if kinds["anon"] < 20 << 20:
        return f"anon is {kinds['anon']}, though a process holds 20 MiB"
    # The counters of a cgroup in the kernel lag by up to 64 pages per CPU.
    return None if abs(sum(kinds.values()) - usage) <= 64 * 4096 * 2 else f"{kinds} do not add up to {usage}"


def _oom(output):
    kills = [_total(output.metrics(section), "memscope_memory_events_total", event="oom_kill")
             for section in ("metrics-churned", "oom")]
    if output.status("oom") != 137:
        return f"the process over the limit ended with {output.status('oom')}, not with SIGKILL"
    return None if kills == [0, 1] else f"oom_kill went from {kills[0]} to {kills[1]}"


def _deaths(output):
    """One OOM kill at the limit of a cgroup, one of the whole host. Each must have the right constraint."""
    if output.status("host-oom") != 137:
        return f"the process that wanted all memory ended with {output.status('host-oom')}, not with SIGKILL"
    for section, at_limit, of_host in (("metrics-churned", 0, 0), ("oom", 1, 0), ("host-oom", 1, 1)):
        metrics = output.metrics(section)
        found = [_total(metrics, "memscope_oom_kills_total", constraint=word) for word in ("cgroup", "host", "unknown")]
        found.append(_total(metrics, "memscope_deaths_total", cause="oom_kill"))
        if found != [at_limit, of_host, 0, at_limit + of_host]:
            return f"{section}: kills of cgroup, host and unknown, and deaths by them are {found}"
    return None


# Depends on the speed of the guest, not on its kernel: a process that lives for a few milliseconds may end before its
# maps are read. Its growth is then reported without names.
_NOT_OF_THE_KERNEL = {"unnamed_frame"}


def _nothing_lost(output):
    counted = output.metrics("host-oom").get("memscope_events_dropped_total")
    if not counted:
        return "there is no count of what was lost"
    lost = {labels: value for labels, value in counted.items()
            if value and dict(labels).get("reason") not in _NOT_OF_THE_KERNEL}
    return f"lost: {lost}" if lost else None


def _first_failure(lines):
    """Location and message of the first failed test, on one line."""
    begin = next((i for i, line in enumerate(lines) if line.endswith(": Failure")), None)
    if begin is None:
        return "no reason given"
    words = itertools.takewhile(lambda line: not line.startswith("[") and ": Failure" not in line, lines[begin + 1:])
    return " ".join([lines[begin].rpartition("/")[2], *(word.strip() for word in words)])


def _tests(output, wanted):
    """Every wanted test ran and passed. A filter that matches fewer tests is a failure."""
    lines = output.lines("tests")
    passed = {line.split()[3] for line in lines if line.startswith("[       OK ] ")}
    failed = [line.split()[3] for line in lines if re.match(r"\[  FAILED  \] \S+ \(", line)]
    if failed:
        return f"failed: {', '.join(failed)}; first: {_first_failure(lines)}"
    if missing := sorted(set(wanted) - passed):
        return f"did not pass: {', '.join(missing)}"
    return None if output.lines("status") == ["tests 0"] else f"they ended with {output.lines('status')}"


def _ticks(output):
    """`watch-check` gives up if memscope makes no more ticks, because it would print old values."""
    if output.status("watched") == 0:
        return None
    return f"watch-check ended with {output.status('watched')}: {'; '.join(output.lines('watched')[:1])}"


def _answers(output):
    unanswered = [line for line in output.lines("hangs") if line.startswith("no answer")]
    return f"memscope gave {'; '.join(unanswered)}" if unanswered else None


def judge(machine, output, stopped, wanted_tests, image_facts):
    """[(check, None or the problem)]. The first check is about the boot itself."""
    checks = [("boots and ends", _ended(output, stopped)), ("is the kernel it should be", _kernel(machine, output)),
              ("the kernel warns of nothing", _warnings(output)), ("every probe is attached", _probes(output))]
    facts = {**image_facts, **expected.facts_of(_json(output.lines("doctor")), output.lines("files"))}
    checks += expected.compare(machine, facts)
    checks += [("resident bytes by kind are exact", _resident(output)),
               ("every start and exit is counted", _starts_and_exits(output)),
               ("mapped bytes add up to the virtual size", _mapped(output)),
               ("kinds of memory add up to the usage", _kinds(output)),
               ("an OOM kill is counted", _oom(output)),
               ("OOM kills of a cgroup and of the machine are distinguished", _deaths(output)),
               ("nothing was lost", _nothing_lost(output)),
               ("memscope makes its ticks", _ticks(output)),
               ("requests are answered", _answers(output)),
               ("memscope ends with 0", _alike("its status", output.status("end"), 0)),
               ("kernel tests pass", _tests(output, wanted_tests))]
    return checks, facts
