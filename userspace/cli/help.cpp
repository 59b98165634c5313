#include "cli/help.h"

namespace memscope {

const char* const kHelp = R"(memscope: which process of a training job takes the memory, and will it last?

Usage:
  memscope --cgroup NAME [OPTION]...   watch a cgroup and all below it (root)
  memscope --pid PID [OPTION]...       a process and all its descendants (root)
  memscope [OPTION]... -- COMMAND...   run a command in a fresh cgroup and watch
                                       it; ends with its exit status (root)
  memscope status [--target T] [--json]
                                       what a running watcher sees now
  memscope growth [--target T] [--top N] [--format text|json|folded|pprof]
                                       what grew there, by call site
  memscope verdict FILE.csv [--limit SIZE] [--warmup TIME] [--json]
                   [--fail-on WORDS]   judge a recorded series (t_seconds,bytes;
                                       - for standard input): does it leak?
  memscope report [FILE] [--json] [--report-dir DIR]
                                       the last death, or the one in FILE: what
                                       happened, who held what, what to do
  memscope doctor [--json]             what this machine offers, and what not
  memscope demo [leak|warmup|spikes|steps|workers|wrapper]
                                       a small job with a known answer (root)

Options of watching:
  --cgroup NAME      a path below the hierarchy, a cgroup directory, a systemd
                     unit or a glob in quotes; may be repeated
  --memory-max SIZE  with a command: its limit (512M, 4G)
  --user NAME        with a command: who runs it (default: who called sudo);
                     the commands of --on-precursor and --on-death, too
  --warmup TIME      growth since the start that ends within it is no leak
                     (default 20m)
  --fail-on WORDS    exit with 3 if a verdict of these stood at the end:
                     leaking, or several with commas
  --wait             wait for a cgroup that does not exist yet
  --interval TIME    time between two samples, 50ms to 1h (default 1s)
  --duration TIME    end after this time (default: when the cgroup is removed)
  --listen ADDRESS   where /metrics is served (default 127.0.0.1:9750);
                     none for nowhere
  --http-status      serve /api/v1/status and /api/v1/growth there, too: they
                     name processes and code
  --http-host NAME   a name by which clients reach that address, as in the Host
                     header of a proxy; may be repeated. localhost and numeric
                     addresses need none; others get 421, because a web page
                     could use its own name to read what is served
  --linger TIME      keep serving after the end (default 60s; 0 after a
                     command)
  --report-dir DIR   where deaths are written down (default
                     /var/lib/memscope); none for nowhere
  --on-precursor CMD run this when an OOM kill announces itself, so that the
                     job can be told to save its work. Without a shell; the
                     facts are in MEMSCOPE_PID and the like, and as JSON on
                     its standard input
  --on-death CMD     run this when processes have died
  --on-timeout TIME  how long each may take (default 30s)
  --json             one JSON object per sample and target on standard output
  --quiet            print errors only
  --no-maps          do not count mapped bytes
  --no-growth        do not book growth to the lines that made it
  --no-python        book it to native code only
  --no-gpu           do not ask NVIDIA's driver for GPU memory
  --torch            count the bytes of PyTorch's tensors, at probes of its own:
                     what is reserved beyond is cached or fragmented
  --growth-budget N% what that may cost of the CPU time of those that grow
                     before it pauses (default 1%)
  --config FILE      settings in TOML (default /etc/memscope.toml, if there);
                     the command line wins over it

  -h, --help         this text
  --version          the version

TIME is a number with ms, s, m or h. An option with = works as well:
--interval=500ms, and --json=false takes back what the config file set.

Exit status:
  0  fine     1  failed while running     2  wrong usage, or this machine cannot
  3  --fail-on names the verdict
  after a command: its own; 126 and 127 if it could not be run

Examples:
  sudo memscope --cgroup train
  sudo memscope --cgroup 'system.slice/slurmstepd.scope/job_*' --quiet
  sudo memscope --memory-max 32G -- python train.py
  sudo memscope --cgroup train --on-precursor 'sh -c "kill -USR1 $MEMSCOPE_PID"'
  memscope status --json
  memscope verdict run.csv --limit 32G --fail-on leaking
)";

}  // namespace memscope
