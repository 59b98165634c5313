#include "cli/offer.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/arguments/shell_words.h"
#include "outputs/text/text_layout.h"
#include "sources/cgroup/cgroup_hierarchy.h"
#include "sources/cgroup/cgroup_memory.h"
#include "sources/proc/process_list.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {
namespace {

constexpr std::size_t kMostJobs = 8;

std::optional<Limit> limit_of(const CgroupHierarchy& hierarchy, const std::string& path) {
    const auto directory = open_directory(hierarchy.mount / path);
    if (!directory) return std::nullopt;
    const auto limits = read_limits(*directory, hierarchy.version);
    return limits ? std::optional(limits->memory) : std::nullopt;
}

std::string limit_text(const std::optional<Limit>& limit) {
    if (!limit) return "-";
    const auto size = finite(*limit);
    return size ? human_size(*size) : "none";
}

// --cgroup cannot take a name with characters of a glob.
bool is_glob(std::string_view path) { return path.find_first_of("*?[") != std::string_view::npos; }

std::string command_for(const Offer::Job& job, bool as_root) {
    const std::string watched = job.candidate.cgroup.empty() || is_glob(job.candidate.cgroup)
                                    ? fmt::format("--pid {}", job.candidate.pid)
                                    : "--cgroup " + shell_word("/" + job.candidate.cgroup);
    return fmt::format("{}memscope {}", as_root ? "" : "sudo ", watched);
}

std::string job_lines(const Offer::Job& job, bool as_root) {
    const WatchCandidate& found = job.candidate;
    return fmt::format("  {}  {}  {}  {}\n      {}\n", right(human_size(found.memory), 9),
                       right(limit_text(job.limit), 9), right(std::to_string(found.processes), 9),
                       printable(found.name), command_for(job, as_root));
}

std::string gaps(const Offer& offer, bool as_root) {
    std::string text;
    if (offer.unreadable > 0)
        text += fmt::format("{} {} could not be read{}.\n", offer.unreadable,
                            offer.unreadable == 1 ? "process" : "processes",
                            as_root ? "" : ", run `sudo memscope` to see them");
    if (offer.without_argv > 0)
        text += fmt::format("The command {} of {} {} could not be read.\n", offer.without_argv == 1 ? "line" : "lines",
                            offer.without_argv, offer.without_argv == 1 ? "process" : "processes");
    if (!offer.complete) text += "The list is not complete, because there are too many processes.\n";
    return text;
}

}  // namespace

Offer make_offer(const SysRoot& root) {
    Offer offer;
    // Command lines are memory of the processes, which can block their readers, so a helper reads them.
    const auto helpers = ReadHelpers::start(root);
    const auto read_argv = [&](ProcessId id) -> std::vector<std::string> {
        if (helpers)
            if (auto details = (*helpers)->patient.call(DetailsJob{.id = id}); details && *details)
                return std::move((**details).argv);
        ++offer.without_argv;
        return {};
    };
    const auto hierarchy = find_hierarchy(root);
    ProcessList list = list_processes(root, hierarchy ? hierarchy->version : 2, read_argv);
    offer.unreadable = list.unreadable;
    offer.complete = list.complete;
    for (WatchCandidate& found : find_candidates(list.processes, kMostJobs)) {
        Offer::Job job{.candidate = std::move(found)};
        if (hierarchy && !job.candidate.cgroup.empty()) job.limit = limit_of(*hierarchy, job.candidate.cgroup);
        offer.jobs.push_back(std::move(job));
    }
    return offer;
}

std::string offer_text(const Offer& offer, bool as_root) {
    const std::string sudo = as_root ? "" : "sudo ";
    std::string text;
    if (offer.jobs.empty()) {
        text = "memscope watches the memory of a job. No process here holds 64 MiB or more.\n";
    } else {
        const bool train = offer.jobs.front().candidate.trains;
        text = fmt::format(
            "memscope watches the memory of a job. {}:\n\n  {}  {}  {}  {}\n",
            train ? "These look like training jobs" : "Nothing looks like a training job. The largest processes are",
            right("MEMORY", 9), right("LIMIT", 9), right("PROCESSES", 9), "JOB, AND HOW TO WATCH IT");
        for (const Offer::Job& job : offer.jobs) text += job_lines(job, as_root);
    }
    text += fmt::format(
        "\nTo start a job and watch it:      {0}memscope -- python train.py\n"
        "To see what memscope shows:       {0}memscope demo\n"
        "To see what works on this system: memscope doctor\n"
        "All commands and options:         memscope --help\n",
        sudo);
    if (const std::string missing = gaps(offer, as_root); !missing.empty()) text += "\n" + missing;
    return text;
}

}  // namespace memscope
