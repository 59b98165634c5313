#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/limits/precursors.h"
#include "analysis/roles/rank_places.h"
#include "analysis/roles/role_rules.h"
#include "base/units.h"
#include "model/snapshot.h"

namespace memscope {

// The settings of the command line and of the config file: what to watch, and how.
struct WatchOptions {
    std::vector<std::string> cgroups{};         // names, paths, units, globs: as typed
    std::optional<pid_t> pid{};                 // instead of cgroups: a process and its descendants
    std::vector<std::string> command{};         // instead of cgroups: a command that memscope runs and watches
    std::optional<Bytes> memory_max{};          // memory limit of `command`
    std::optional<std::string> user{};          // the user that runs `command` and the commands of actions
    std::optional<std::string> job_output{};    // file for the standard output of the command
    std::optional<std::string> own_cgroup{};    // instead of cgroups: a cgroup that memscope made
    TargetInfo shown{};                         // name and kind that the output shows for own_cgroup
    bool maps = true;                           // count mapped bytes
    bool growth = true;                         // attribute growth to call stacks
    bool python = true;                         // name Python lines in these stacks
    bool gpu = true;                            // query the GPU driver
    std::string nvml = "libnvidia-ml.so.1";     // not a setting for users: its code runs with our privileges
    std::uint32_t cuda_live = 0;                // capacity for live CUDA allocations; 0: the default
    bool torch = false;                         // read tensor bytes at PyTorch's own probes
    std::uint32_t gpu_tensors = 0;              // capacity for live GPU tensors; 0: the default
    std::uint32_t host_storages = 0;            // capacity for live storages of host tensors; 0: the default
    double growth_budget = 0.01;                // maximum cost, as a share of the CPU time of growing processes
    Seconds growth_window{60};                  // the cost is averaged over this time
    Seconds warmup = std::chrono::minutes(20);  // growth that ends within this time since the start is no leak
    bool fail_on_suspected = false;             // a suspected leak at the end does so, too
    std::vector<Verdict> fail_on{};             // final verdicts that make memscope exit with a failure
    // Shortest time between two heap censuses of a process that memscope takes by itself; only tests and the demo
    // change it.
    Seconds heap_every = std::chrono::minutes(5);
    bool wait = false;                  // for cgroups with plain names that do not exist yet
    Seconds interval{1};                // time between two ticks
    std::optional<Seconds> duration{};  // after the start of the command, if there is one; none: no limit
    std::optional<std::string> listen = "127.0.0.1:9750";  // none: no HTTP
    bool listen_chosen = false;                            // the user chose `listen`: it must be usable
    bool http_status = false;                              // serve the status of targets over HTTP, too
    std::vector<std::string> http_hosts{};         // additional host names that clients may use, from parse_host_name
    bool json = false;                             // print a JSON object per tick and target
    bool quiet = false;                            // print errors only
    std::optional<Seconds> linger{};               // by default 60 s, and not at all after a command
    std::optional<Seconds> status_every{};         // print the whole status at this interval, in addition to notices
    std::string report_dir = "/var/lib/memscope";  // directory of death reports; empty: none are written
    std::string record{};                          // directory or file of recordings; empty: none are written
    Bytes record_max{std::uint64_t{512} << 20U};   // of all recordings in the directory
    std::vector<std::string> on_precursor{};       // words of the command for a precursor; empty: none
    std::vector<std::string> on_death{};           // words of the command for deaths of processes; empty: none
    Seconds on_timeout{30};                        // timeout of each of these commands
    PrecursorSettings precursors{};                // thresholds
    std::vector<RoleRule> role_rules{};            // take precedence over the built-in rules
    Seconds keep_ranks = RankPlaces::kKeep;  // how long a rank without processes keeps its place; only tests change it
    std::function<void(const Snapshot&)> on_snapshot{};  // called at each tick
};

}  // namespace memscope
