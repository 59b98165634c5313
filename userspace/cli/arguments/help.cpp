#include "cli/arguments/help.h"

namespace memscope {

const char* const kHelp = R"(memscope: find out where the memory of a training job goes, and if it leaks

memscope COMMAND --help explains a command, with examples.

Usage:
  memscope                             list the jobs that could be watched, with
                                       the commands to watch them
  memscope --cgroup NAME [OPTION]...   watch a cgroup and all cgroups below it
                                       (root)
  memscope --pid PID [OPTION]...       watch a process and all its descendants
                                       (root)
  memscope [OPTION]... -- COMMAND...   run a command in a new cgroup and watch
                                       it; the exit status is that of the
                                       command (root)
  memscope status [--target T] [--json]
                                       show the last tick of a running watcher
  memscope growth [--target T] [--since TIME|warmup|start] [--at now|peak]
                  [--stacks] [--top N] [--format text|json|folded|pprof]
                                       show what grew in the target of a running
                                       watcher, by line of code, and which line
                                       keeps it
  memscope heap [--target T] [--pid PID] [--again TIME] [--top N]
                [--type NAME] [--format text|json]
                                       show what is in the heap of a process:
                                       the containers of Python that hold most
                                       or grow, tensors, arrays and objects by
                                       type (--type: only holders of this type);
                                       live blocks, blocks that were freed but
                                       are still held by malloc or Python, and
                                       the rest. Of the largest processes in the
                                       target of a running watcher, of one of
                                       its processes, or with --pid alone of any
                                       process, without a watcher (root). With
                                       --again: also the change after this time
  memscope verdict FILE [--time COLUMN] [--value NAME] [--unit UNIT]
                   [--gpu GPU] [--interval TIME] [--limit SIZE]
                   [--warmup TIME] [--json] [--fail-on WORDS]
                                       judge a recorded series: does it leak?
                                       CSV with the header t_seconds,bytes or
                                       with other columns, output of sar -r,
                                       pidstat -r, docker stats or nvidia-smi, a
                                       range of Prometheus; - reads standard
                                       input
  memscope report [FILE|RECORDING] [--target T] [--json] [--report-dir DIR]
                  [--record DIR] [--html OUT.html] [--with-commands]
                                       show the last death report, or FILE: what
                                       happened, which processes held memory,
                                       what to do. Of a recording: the whole
                                       run. --html writes it as one file for a
                                       browser, without command lines unless
                                       --with-commands is given
  memscope web [RECORDING] [--target T] [--listen ADDRESS] [--no-browser]
               [--record DIR]          show the target of a running watcher, or
                                       a recording, as a page in a browser of
                                       this machine (default 127.0.0.1:0: any
                                       free port). --no-browser: only print the
                                       link
  memscope recordings [--remove NAME] [--json] [--record DIR]
                                       list the recordings, or remove one
  memscope export RECORDING [--format csv|json|openmetrics|perfetto|recording]
                  [--from TIME] [--to TIME] [--target T] [--output FILE]
                  [--record DIR]       write a recorded series for other tools;
                                       memscope verdict reads the CSV;
                                       recording: a copy of the whole file
  memscope replay RECORDING [--from TIME] [--speed N] [--target T]
                  [--record DIR]       show a recording in the live view: pause,
                                       move in time, jump to the next event
  memscope compare BASE HEAD [--fail-on RULES] [--target T] [--record DIR]
                   [--format text|markdown|junit|json]
                                       compare recordings of a job before and
                                       after a change; each may be a directory
                                       of recordings. RULES: peak>5%,floor>200M,
                                       leaking
  memscope doctor [--json]             show what works on this machine, and what
                                       each missing feature costs
  memscope demo [leak|warmup|spikes|steps|workers|wrapper|fragmentation|
                 crashloop] [--scenario-seconds N]
                                       run and watch a small Python job whose
                                       verdict is known, in 52 s or N s (root)

Options for watching:
  --cgroup NAME      a path below the hierarchy, a cgroup directory, a systemd
                     unit or a glob in quotes; may be repeated
  --memory-max SIZE  with a command: its memory limit (512M, 4G)
  --user NAME        the user that runs the command, and the commands of
                     --on-precursor and --on-death (default for the command:
                     the user who called sudo)
  --job-output FILE  with a command: the file for its standard output, which is
                     created or emptied with the rights of its user. Without
                     it, --json sends that output to standard error
  --warmup TIME      growth since the start that ends within this time is not a
                     leak (default 20m)
  --fail-on WORDS    exit with 3 if the last verdict is one of these words:
                     leaking, or several words with commas; suspected:
                     a container is suspected to leak
  --wait             wait for a cgroup that does not exist yet
  --interval TIME    time between two samples, 50ms to 1h (default 1s)
  --duration TIME    end after this time, or this time after the start of the
                     command (default: when the cgroup is removed)
  --listen ADDRESS   address that serves /metrics (default 127.0.0.1:9750, and
                     none if another watcher uses it); none switches HTTP off
  --http-status      serve /api/v1/status and /api/v1/growth on that address,
                     too; they show names of processes and code
  --http-host NAME   a host name by which clients reach that address, as in the
                     Host header of a proxy; may be repeated. localhost and
                     numeric addresses always work. Requests with another name
                     get status 421, because a web page could use its own name
                     to read the answers
  --linger TIME      keep serving after the end (default 60s; 0 after a
                     command)
  --report-dir DIR   directory for death reports (default /var/lib/memscope);
                     none switches reports off
  --record WHERE     directory of recordings, or one file for one target if the
                     name ends in .memscope (default
                     /var/lib/memscope/recordings); none switches recording off
  --record-max SIZE  size of all recordings in that directory; the oldest are
                     removed (default 512M)
  --on-precursor CMD run this command at a precursor of an OOM kill, for example
                     to make the job save its work. It runs without a shell. It
                     gets the facts in MEMSCOPE_PID and other variables, and as
                     JSON on its standard input
  --on-death CMD     run this command when processes have died
  --on-timeout TIME  timeout of each of these commands (default 30s)
  --json             one JSON object per sample and target on standard output
  --quiet            print errors only
  --no-maps          do not count mapped bytes
  --no-growth        do not attribute growth to lines of code
  --no-python        attribute growth to native code only
  --no-gpu           do not read GPU memory from NVIDIA's driver
  --torch            count the bytes of PyTorch's tensors with user probes. The
                     rest of the reserved GPU memory is cached or fragmented
  --growth-budget N% CPU time that recording growth may cost, as a share of the
                     CPU time of the growing processes. It pauses if it costs
                     more (default 1%)
  --config FILE      settings in TOML (default /etc/memscope.toml, if it
                     exists); the command line overrides them

  -h, --help         print this text
  --version          print the version

TIME is a number with ms, s, m or h. An option may also be written with =, as in
--interval=500ms. --json=false switches off a flag that the config file sets.
RECORDING is a file, or the name of a target, which means its latest recording.
--from and --to take times as in '2h ago', 03:40 and '2026-11-15 03:40'.

Exit status:
  0  success    1  failed while running    2  wrong usage, or this machine lacks
  something that is needed    3  --fail-on names the verdict, or its rule broke
  with a command: its exit status; 126 or 127 if it could not be run

Examples:
  sudo memscope --cgroup train
  sudo memscope --cgroup 'system.slice/slurmstepd.scope/job_*' --quiet
  sudo memscope --memory-max 32G -- python train.py
  sudo memscope --cgroup train --on-precursor 'sh -c "kill -USR1 $MEMSCOPE_PID"'
  memscope status --json
  memscope web train
  memscope verdict run.csv --limit 32G --fail-on leaking
  memscope compare base.memscope head.memscope --fail-on 'peak>5%,leaking'
)";

}  // namespace memscope
