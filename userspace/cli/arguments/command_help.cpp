#include <algorithm>

#include "cli/arguments/help.h"

namespace memscope {
namespace {

constexpr CommandHelp kCommands[] = {
    {"status", R"(memscope status: show the last tick of a running watcher

Usage:
  memscope status [--target T] [--json]

Needs root, or membership of the group memscope. Shows the verdict, the limit
that is reached first, memory by kind, role and process, and deaths.

Options:
  --target T         the target: its name, a part of its name that no other
                     target has, or the pid of a process or command. Without
                     it: the only target, or the list of the targets
  --json             the tick as one JSON object

Examples:
  memscope status
  memscope status --target train.py
  memscope status --json
)"},
    {"growth", R"(memscope growth: show what grew, by line of code

Usage:
  memscope growth [--target T] [--since TIME|warmup|start] [--at now|peak]
                  [--stacks] [--top N] [--format text|json|folded|pprof]

Needs a running watcher, and root or membership of the group memscope. The first
sentence names the line that keeps the memory, if it is known. Then come lists:
memory by the line that first touched it, memory that is mapped, host tensors of
PyTorch, GPU memory, pinned memory.

Options:
  --target T         the target: its name, a part of its name that no other
                     target has, or the pid of a process or command
  --since TIME       growth since this time ago (10m), since the end of the
                     warm-up (warmup), or since watching began (start). The
                     default is warmup for text and start for other formats
  --at peak          what was held when the target held most (default: now)
  --stacks           single stacks instead of one row for each own line
  --top N            number of rows of each list (text: 20; others: all)
  --format FORMAT    text, json, folded (for flame graphs) or pprof

Examples:
  memscope growth
  memscope growth --target train.py --since 10m
  memscope growth --at peak --top 5
  memscope growth --format folded >growth.folded
  memscope growth --format pprof >growth.pb.gz
)"},
    {"heap", R"(memscope heap: show what is in the heap of a process

Usage:
  memscope heap [--target T] [--pid PID] [--again TIME] [--top N] [--type NAME]
                [--format text|json]

Shows the containers of Python that hold most or grow, tensors, arrays, objects
by type, live blocks, and blocks that were freed but are still held by malloc or
Python. The process is not stopped and not changed. Reads the largest processes
in the target of a running watcher (root, or the group memscope), or with --pid
alone any process, without a watcher (root).

Options:
  --target T         the target: its name, a part of its name that no other
                     target has, or the pid of a process or command
  --pid PID          this process
  --again TIME       read it a second time after this time, and show the changes
  --top N            entries of each list (default 5)
  --type NAME        only the holders of objects of this Python type
  --format FORMAT    text or json

Examples:
  memscope heap
  sudo memscope heap --pid 4711
  sudo memscope heap --pid 4711 --again 30s
  memscope heap --target train.py --type dict --top 20
)"},
    {"verdict", R"(memscope verdict: judge a recorded series: does it leak?

Usage:
  memscope verdict FILE [--time COLUMN] [--value NAME] [--unit UNIT] [--gpu GPU]
                   [--limit SIZE] [--warmup TIME] [--json] [--fail-on WORDS]

Needs no privileges and no watcher. FILE is one of these, - is standard input:
  CSV                the header t_seconds,bytes, or other columns (--time,
                     --value, --unit). A name like rss_kb has its unit
  sar -r             the column kbmemused, or the one that --value names
  pidstat -r         RSS. --value chooses the process: its pid or its command
  docker stats       JSON lines or the table, repeated with --no-stream.
                     --value chooses the container, --interval is the time
                     between two answers, which docker does not print
  nvidia-smi         --query-gpu=timestamp,memory.used --format=csv. --gpu
                     chooses the GPU: its index, UUID or bus id in the file
  Prometheus         a range: the JSON of /api/v1/query_range, or of promtool
                     query range -o json. --value chooses the series

Options:
  --time COLUMN      column of the times: seconds, or dates as in
                     2026-11-15 03:40:00
  --value NAME       which column, process, container or series
  --unit UNIT        unit of the values: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB
  --gpu GPU          which GPU
  --interval TIME    time between two samples, where the file has no times
  --limit SIZE       when is this limit reached? (32G)
  --warmup TIME      growth since the start that ends within this time is not a
                     leak (default 20m)
  --json             the verdict as one JSON object
  --fail-on WORDS    exit with 3 if the verdict is one of these words:
                     leaking, or several words with commas

Examples:
  memscope verdict run.csv
  memscope verdict run.csv --limit 32G --fail-on leaking
  memscope verdict metrics.csv --time timestamp --value rss_kb
  memscope verdict memory.sar --value kbcommit
  memscope verdict gpu.csv --gpu 0
  LC_ALL=C pidstat -r -p 4711 5 >rss.txt; memscope verdict rss.txt
)"},
    {"report", R"(memscope report: show a death report, or a recorded run on one page

Usage:
  memscope report [FILE|RECORDING] [--target T] [--json] [--report-dir DIR]
                  [--record DIR] [--html OUT.html [--with-commands]]

Without FILE: the last death report. It says what happened, which processes held
memory, what grew, and what to do. Of a recording: the whole run.

Options:
  --target T         a target of a recording with several targets
  --json             as JSON
  --report-dir DIR   directory of the death reports (default /var/lib/memscope)
  --record DIR       directory of the recordings
  --html OUT.html    write a recorded run as one page for the browser
  --with-commands    with the command lines of the processes in it

Examples:
  memscope report
  memscope report train --html train.html
  memscope report train
  memscope report train-2026-11-15T03-40-00.memscope --json
)"},
    {"recordings", R"(memscope recordings: list the recordings, or remove one

Usage:
  memscope recordings [--remove NAME] [--json] [--record DIR]

Options:
  --remove NAME      remove this recording
  --json             the list as JSON
  --record DIR       directory (default /var/lib/memscope/recordings)

Examples:
  memscope recordings
  memscope recordings --record runs --json
)"},
    {"export", R"(memscope export: write a recorded series for other tools

Usage:
  memscope export RECORDING [--format FORMAT] [--from TIME] [--to TIME]
                  [--target T] [--output FILE] [--record DIR]

RECORDING is a file, or the name of a target, which means its latest recording.

Options:
  --format FORMAT    csv (memscope verdict reads it), json, openmetrics,
                     perfetto, or recording: a copy of the whole file
  --from TIME        begin and end: '2h ago', 03:40, '2026-11-15 03:40'
  --to TIME
  --target T         a target of a recording with several targets
  --output FILE      file to write (default: standard output)
  --record DIR       directory of the recordings

Examples:
  memscope export train --format csv --from '2h ago' >run.csv
  memscope export train --format perfetto --output train.perfetto
  memscope export run.memscope --format openmetrics --output run.txt
)"},
    {"replay", R"(memscope replay: show a recording in the live view

Usage:
  memscope replay RECORDING [--from TIME] [--speed N] [--target T]
                  [--record DIR]

RECORDING is a file, or the name of a target, which means its latest recording.
The key ? lists the keys: pause, move in time, jump to the next event.

Options:
  --from TIME        begin here: '2h ago', 03:40, '2026-11-15 03:40'
  --speed N          60 shows a minute in a second (default 1)
  --target T         a target of a recording with several targets
  --record DIR       directory of the recordings

Examples:
  memscope replay train
  memscope replay run.memscope --from 03:40 --speed 60
)"},
    {"compare", R"(memscope compare: compare recordings of a job before and after a change

Usage:
  memscope compare BASE HEAD [--fail-on RULES] [--target T] [--record DIR]
                   [--format text|markdown|junit|json]

BASE and HEAD are recordings, names of targets, or directories of recordings.

Options:
  --fail-on RULES    exit with 3 if a rule is broken: peak>5%, floor>200M,
                     leaking; several rules with commas
  --format FORMAT    text, markdown (for a pull request), junit or json
  --target T         a target of recordings with several targets
  --record DIR       directory of the recordings

Examples:
  memscope compare base.memscope head.memscope
  memscope compare base head --fail-on 'peak>5%,leaking' --format markdown
)"},
    {"web", R"(memscope web: show a running watcher or a recording in the browser

Usage:
  memscope web [RECORDING] [--target T] [--listen ADDRESS] [--no-browser]
               [--record DIR]

Serves one page on this machine only, with a link that works once. Needs no
privileges beyond those of memscope status. Without RECORDING it shows the
target of a running watcher, and follows it.

Options:
  --target T         target of a running watcher, or of the recording
  --listen ADDRESS   loopback address and port (default 127.0.0.1:0, any port)
  --no-browser       print the link only
  --record DIR       directory of the recordings

Examples:
  memscope web
  memscope web train --no-browser
  memscope web run.memscope --listen 127.0.0.1:8080
)"},
    {"doctor", R"(memscope doctor: show what works on this machine

Usage:
  memscope doctor [--json]

Shows what the kernel, the cgroup hierarchy, the GPU driver and Python offer,
and what each missing feature costs. Needs no privileges. The exit status is 0
if watching would work, else 2.

Options:
  --json             as JSON

Examples:
  memscope doctor
  sudo memscope doctor
  memscope doctor --json
)"},
    {"demo", R"(memscope demo: run and watch a small job whose verdict is known

Usage:
  memscope demo [leak|warmup|spikes|steps|workers|wrapper|fragmentation|
                 crashloop] [--scenario-seconds N]

Needs root. Runs for about a minute in a cgroup of its own, and says what was
seen. No port is used. The default is leak.

Options:
  --scenario-seconds N   the same demo in N seconds

Examples:
  sudo memscope demo
  sudo memscope demo workers
)"},
};

}  // namespace

std::span<const CommandHelp> command_helps() { return kCommands; }

const char* help_of(std::string_view command) {
    const auto* const found = std::ranges::find(kCommands, command, &CommandHelp::name);
    return found == std::end(kCommands) ? nullptr : found->text;
}

}  // namespace memscope
