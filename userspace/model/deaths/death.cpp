#include "model/deaths/death.h"

#include <algorithm>
#include <numeric>

namespace memscope {
namespace {

constexpr std::size_t index_of(auto word) { return static_cast<std::size_t>(word); }

}  // namespace

std::string_view name_of(DeathCause cause) {
    switch (cause) {
        case DeathCause::oom_kill:
            return "oom_kill";
        case DeathCause::sigkill:
            return "sigkill";
        case DeathCause::sigbus:
            return "sigbus";
        case DeathCause::signal:
            return "signal";
        case DeathCause::alloc_failed:
            return "alloc_failed";
        case DeathCause::cuda_oom:
            return "cuda_oom";
    }
    return "";
}

std::string_view name_of(DeathSender sender) {
    switch (sender) {
        case DeathSender::tree:
            return "tree";
        case DeathSender::outside:
            return "outside";
        case DeathSender::kernel:
            return "kernel";
        case DeathSender::none:
            return "none";
    }
    return "";
}

std::string_view name_of(OomConstraint constraint) {
    switch (constraint) {
        case OomConstraint::cgroup:
            return "cgroup";
        case OomConstraint::host:
            return "host";
        case OomConstraint::cpuset:
            return "cpuset";
        case OomConstraint::mempolicy:
            return "mempolicy";
        case OomConstraint::unknown:
            return "unknown";
    }
    return "";
}

void DeathTally::add(const Death& death) {
    ++deaths[index_of(death.cause)][index_of(death.sender)];
    if (death.oom && death.oom->marked) ++oom_kills[index_of(death.oom->constraint)];
    std::optional<double>& latest = last[index_of(death.cause)];
    latest = std::max(latest.value_or(death.time), death.time);
}

std::uint64_t DeathTally::of(DeathCause cause, DeathSender sender) const {
    return deaths[index_of(cause)][index_of(sender)];
}

std::uint64_t DeathTally::of(DeathCause cause) const {
    const auto& by_sender = deaths[index_of(cause)];
    return std::accumulate(by_sender.begin(), by_sender.end(), std::uint64_t{0});
}

std::uint64_t DeathTally::of(OomConstraint constraint) const { return oom_kills[index_of(constraint)]; }

}  // namespace memscope
