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

// What to watch and how, as the command line and the config file say it.
struct WatchOptions {
    std::vector<std::string> cgroups{};  // names, paths, units, globs: as typed
    std::optional<pid_t> pid{};          // instead of cgroups: a process and its descendants
    std::vector<std::string> command{};  // or a command to run, its limit, and who runs it
    std::optional<Bytes> memory_max{};
    std::optional<std::string> user{};
    std::optional<std::string> own_cgroup{};  // or one of our own making, shown as:
    TargetInfo shown{};
    bool maps = true;                           // count mapped bytes
    bool growth = true;                         // book growth to call stacks
    bool python = true;                         // and to Python lines
    bool gpu = true;                            // ask the driver of GPUs
    std::string nvml = "libnvidia-ml.so.1";     // by this library; no setting, for its code runs with our privileges
    std::uint32_t gpu_live = 0;                 // CUDA allocations there is room for; 0: as many as there should be
    bool torch = false;                         // read tensor bytes at PyTorch's own probes
    std::uint32_t tensors = 0;                  // tensors there is room for; 0: as many as there should be
    double growth_budget = 0.01;                // what that may cost of the CPU time of those that grow,
    Seconds growth_window{60};                  // in a while as long as this
    Seconds warmup = std::chrono::minutes(20);  // growth since the start that lasts no longer is no leak
    std::vector<Verdict> fail_on{};             // verdicts of the end that make it one in failure
    bool wait = false;                          // for plain names that do not exist yet
    Seconds interval{1};
    std::optional<Seconds> duration{};
    std::optional<std::string> listen = "127.0.0.1:9750";  // none: no HTTP
    bool http_status = false;
    std::vector<std::string> http_hosts{};  // further names that clients may use for us, from parse_host_name
    bool json = false;
    bool quiet = false;
    std::optional<Seconds> linger{};               // by default 60 s, and not at all after a command
    std::optional<Seconds> status_every{};         // print the whole status now and then, not only what happens
    std::string report_dir = "/var/lib/memscope";  // where deaths are written down; empty: nowhere
    std::vector<std::string> on_precursor{};       // words of a command to run when one comes to stand,
    std::vector<std::string> on_death{};           // and when processes die; empty: none
    Seconds on_timeout{30};                        // how long each may take
    PrecursorSettings precursors{};
    std::vector<RoleRule> role_rules{};      // come before the built-in ones
    Seconds keep_ranks = RankPlaces::kKeep;  // how long a rank without processes keeps its place; only tests change it
    std::function<void(const Snapshot&)> on_snapshot{};  // called at each tick, for whoever runs the watcher
};

}  // namespace memscope
