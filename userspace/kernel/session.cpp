#include "kernel/session.h"

#include <algorithm>
#include <ranges>
#include <unistd.h>

#include "kernel/bpf/bpf_object.h"

namespace memscope {
namespace {

enum class Start {
    needed,       // watching is impossible without it
    if_possible,  // at the start, if it is wanted and the kernel has a hook for it
    later,        // on request
};

struct Entry {
    std::string_view name;
    Start start;
    bool (*is_wanted)(const FeatureSettings&);
    Result<std::unique_ptr<KernelFeature>> (*make)(const Plan&, const FeatureSettings&);
    LateFeature late{};  // only with Start::later
};

bool always(const FeatureSettings&) { return true; }

template <class Feature>
constexpr Entry entry(Start start, bool (*is_wanted)(const FeatureSettings&) = always) {
    return {Feature::kName,
            start,
            is_wanted,
            [](const Plan& plan, const FeatureSettings& settings) -> Result<std::unique_ptr<KernelFeature>> {
                auto feature = Feature::start(plan, settings);
                if (!feature) return feature.error();
                return std::unique_ptr<KernelFeature>(std::move(*feature));
            },
            {}};
}

template <class Feature>
constexpr Entry late_entry() {
    Entry later = entry<Feature>(Start::later);
    later.late = Feature::kLate;
    return later;
}

// In start order: ProcessTree creates maps that all others share, and MappingCalls walks stacks with the maps of
// GrowthStacks.
const Entry kFeatures[] = {
    entry<ProcessTree>(Start::needed),
    entry<TaskScan>(Start::needed),
    entry<GrowthStacks>(Start::if_possible, [](const FeatureSettings& s) { return s.follow_growth; }),
    entry<MappingCalls>(Start::if_possible, [](const FeatureSettings& s) { return s.follow_mappings; }),
    entry<ReclaimTimer>(Start::if_possible),
    entry<FatalSignals>(Start::if_possible),
    late_entry<CudaCalls>(),
    late_entry<GpuTensors>(),
    late_entry<HostTensors>(),
};

const Entry& entry_of(std::string_view name) { return *std::ranges::find(kFeatures, name, &Entry::name); }

FeatureSettings settings_for(const Plan& plan, const SessionSettings& wanted) {
    FeatureSettings settings{wanted, static_cast<unsigned>(::getpid())};
    settings.follow_mappings = wanted.follow_mappings && !programs_of(plan, MappingCalls::kName).empty();
    settings.follow_ranges = wanted.follow_ranges && wanted.follow_mappings &&
                             !program_of(plan, MappingCalls::kName, "sys_exit").empty() &&
                             !program_of(plan, MappingCalls::kName, "sys_enter").empty();
    return settings;
}

}  // namespace

Result<Session> Session::start(const Plan& plan, const SessionSettings& wanted) {
    capture_libbpf_messages();
    Session session;
    session.plan_ = plan;
    session.settings_ = settings_for(plan, wanted);
    for (const Entry& each : kFeatures) {
        if (each.start == Start::later || !each.is_wanted(session.settings_)) continue;
        if (each.start == Start::if_possible && programs_of(plan, each.name).empty()) continue;
        const auto started = session.start_feature(each.name);
        if (started) {
            if (auto refusal = (*started)->refusal()) session.refused_.push_back(std::move(*refusal));
        } else if (each.start == Start::needed) {
            return started.error();
        } else {
            session.refused_.push_back(started.error());
        }
    }
    session.follows_ranges_ = session.settings_.follow_ranges && session.find<MappingCalls>();
    return session;
}

Result<KernelFeature*> Session::start_feature(std::string_view name) {
    if (KernelFeature* running = find(name)) return running;
    FeatureSettings settings = settings_;
    // The programs of other features walk stacks only if GrowthStacks runs, because it reads the stacks.
    settings.follow_growth = find<GrowthStacks>() != nullptr;
    auto started = entry_of(name).make(plan_, settings);
    if (!started) return started.error();
    settings_.shared.merge((*started)->shared_maps());
    features_.push_back({entry_of(name).name, std::move(*started)});
    return features_.back().feature.get();
}

std::vector<Session::TriedFeature> Session::try_late_features() {
    std::vector<TriedFeature> tried;
    for (const Entry& each : kFeatures) {
        if (each.start != Start::later) continue;
        const auto started = start_feature(each.name);
        tried.push_back({each.late, started ? std::nullopt : std::optional(started.error())});
    }
    return tried;
}

KernelFeature* Session::find(std::string_view name) const {
    const auto found = std::ranges::find(features_, name, &Running::name);
    return found == features_.end() ? nullptr : found->feature.get();
}

std::vector<Probe> Session::probes() const {
    std::vector<Probe> probes;
    for (const Choice& choice : plan_) {
        if (entry_of(choice.feature).start == Start::later) continue;
        const KernelFeature* feature = find(choice.feature);
        probes.push_back({std::string(choice.feature) + "_" + std::string(choice.hook),
                          feature && !choice.program.empty() && feature->uses(choice.hook)});
    }
    return probes;
}

// Calls ProcessTree last, because its map makes the target visible to the programs of the other features.
Status Session::watch(CgroupId target) {
    for (const Running& each : features_ | std::views::reverse)
        if (auto added = each.feature->watch(target); !added) return added;
    return Done{};
}

void Session::unwatch(CgroupId target) {
    for (const Running& each : features_) each.feature->unwatch(target);
}

std::vector<int> Session::event_fds() const {
    std::vector<int> fds;
    for (const Running& each : features_)
        for (const int fd : each.feature->event_fds()) fds.push_back(fd);
    return fds;
}

void Session::drain(const KernelEvents& events) {
    for (const Running& each : features_) each.feature->drain(events);
}

Losses Session::losses() const {
    Losses sum;
    for (const Running& each : features_)
        for (const auto& [reason, count] : each.feature->losses()) sum[reason] += count;
    return sum;
}

Bytes Session::map_memory() const {
    Bytes sum;
    for (const Running& each : features_) sum += each.feature->map_memory();
    return sum;
}

}  // namespace memscope
