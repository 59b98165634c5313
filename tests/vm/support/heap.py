"""Compares heap censuses in a guest with the figures of the processes themselves: mallinfo2(), malloc_trim(0) and
sys._debugmallocstats(), as tests/e2e/heap.py does on the host. A check is (name, None or the problem)."""
import json
import re

MIB = 1 << 20


def _near(one, other, share, least=MIB):
    return abs(one - other) <= max(share * max(one, other), least)


def _objects(lines):
    return [json.loads(line) for line in lines if line.startswith("{")]


def _census(told, section):
    """(census of the only process, its parts in bytes, problem)."""
    lines = told.lines(section)
    if told.status(section) != 0:
        return None, None, f"memscope ended with {told.status(section)}: {'; '.join(lines[:2])}"
    try:
        census, = _objects(lines)[0]["processes"]
    except (IndexError, ValueError, KeyError) as error:
        return None, None, f"no census: {error!r}"
    by = {part["part"]: part["bytes"] for part in census["parts"]}
    # Figures of samples must be right, too: a census in a slow guest may reach its time limit.
    if set(census["incomplete"]) - {"time_limit"}:
        return None, None, f"it is incomplete: {census['incomplete']}"
    anon = next((int(line.split()[1]) << 10 for line in lines if re.fullmatch(r"anon \d+", line)), 0)
    if not anon or not 0.97 * anon <= sum(by.values()) <= 1.03 * anon:
        return None, None, f"the parts {by} do not add up to {anon}"
    return census, by, None


def _job(told, section, count):
    """What the process said, line by line."""
    said = _objects([line.removeprefix("job ") for line in told.lines(section) if line.startswith("job ")])
    return said if len(said) == count else None


def _malloc(told, section):
    census, by, problem = _census(told, section)
    if problem:
        return problem
    said = _job(told, section, 3)
    if not said:
        return "the process did not report its figures"
    _, figures, trimmed = said
    if not _near(by["malloc_free"], figures["free"], 0.02):
        return f"malloc_free is {by['malloc_free']}, mallinfo2() says {figures['free']}"
    if not _near(by["malloc_live"], figures["used"] + figures["mapped"], 0.02):
        return f"malloc_live is {by['malloc_live']}, mallinfo2() says {figures['used'] + figures['mapped']}"
    allocator, fell = census["allocator"], figures["anon"] - trimmed["anon"]
    if allocator["name"] != "glibc" or not allocator["version"]:
        return f"the allocator is {allocator}"
    if not _near(allocator["trimmable_bytes"], fell, 0.05, MIB // 4):
        return f"malloc_trim(0) returned {fell}, not {allocator['trimmable_bytes']}"
    arenas = 16 if section == "heap-arenas" else 1  # of 24 threads: 8 for each of the two CPUs
    return None if allocator["arenas"] >= arenas else f"there are {allocator['arenas']} arenas, not {arenas}"


def _tcaches(told):
    """24 threads have freed more blocks than their tcaches can hold: 7 of each size up to 1 KiB."""
    _, by, problem = _census(told, "heap-tcaches")
    if problem:
        return problem
    said = _job(told, "heap-tcaches", 2)
    if not said:
        return "the process did not report its figures"
    cached = said[1]["used"] - by["malloc_live"]
    return None if 24 * 50_000 < cached < 24 * 240_000 else f"tcaches of 24 threads hold {cached} bytes"


def _python(told):
    census, by, problem = _census(told, "heap-python")
    if problem:
        return problem
    if not str(census["python"]).startswith("3.11"):
        return f"Python is {census['python']}"
    text = "\n".join(told.lines("heap-python"))
    counted = [re.search(rf"{label}\s+=\s+([\d,]+)", text)
               for label in ("# bytes in allocated blocks", "# bytes lost to pool headers")]
    if not all(counted):
        return "the process did not report its figures"
    live = sum(int(number[1].replace(",", "")) for number in counted)  # heads of pools count as live
    if not _near(by["python_live"], live, 0.03):
        return f"python_live is {by['python_live']}, sys._debugmallocstats() says {live}"
    return None if by["python_free"] > 2 * by["python_live"] else f"python_free is {by['python_free']}"


def checks(told):
    return [("a heap census of many pieces is right", _malloc(told, "heap-pieces")),
            ("a heap census of many arenas is right", _malloc(told, "heap-arenas")),
            ("a heap census finds the caches of threads", _tcaches(told)),
            ("a heap census of Python is right", _python(told))]
