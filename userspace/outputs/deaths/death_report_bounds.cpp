#include "outputs/deaths/death_report_bounds.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "analysis/growth/attribution.h"
#include "outputs/text/process_rows.h"

namespace memscope {
namespace {

using Bounds = DeathReportBounds;

void cut(std::string& text, std::size_t most) {
    if (text.size() > most) text.resize(most);
}

void cut(std::shared_ptr<const std::string>& text, std::size_t most) {
    if (text && text->size() > most) text = std::make_shared<const std::string>(text->substr(0, most));
}

template <class T>
void keep_last(std::vector<T>& list, std::size_t most) {
    if (list.size() > most) list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(most));
}

void cut_deaths(DeathReport& report) {
    if (report.deaths.size() > Bounds::kDeaths) {
        report.deaths_left_out += report.deaths.size() - Bounds::kDeaths;
        report.deaths.resize(Bounds::kDeaths);
    }
    for (Death& death : report.deaths) cut(death.command, Bounds::kCommandBytes);
}

void cut_processes(DeathReport& report) {
    auto& processes = report.then.targets.front().processes;
    if (processes.size() > Bounds::kProcesses) {
        const ProcessRows kept = process_rows(processes, Bounds::kProcesses);
        std::vector<Process> largest;
        largest.reserve(kept.rows.size());
        for (const ProcessRow& row : kept.rows) largest.push_back(*row.process);
        std::ranges::sort(largest, {}, [](const Process& process) { return process.task.id; });
        report.processes_left_out += kept.left_out;
        report.left_out_resident += kept.left_out_resident;
        processes = std::move(largest);
    }
    for (Process& process : processes) cut(process.command, Bounds::kCommandBytes);
}

// Keeps the largest roles: a job of a thousand ranks has a thousand trainers.
void cut_roles(TargetSnapshot& target) {
    target.counters.clear();  // they count since watching began, not at the moment of the death
    target.sharing.unshared.clear();
    target.sharing.pss.clear();
    target.lines.reset();  // the growth of the report has more, and is bounded
    while (target.roles.size() > Bounds::kRoles)
        target.roles.erase(std::ranges::min_element(
            target.roles, {}, [](const auto& role) { return role.second.own_anon() + role.second.shmem; }));
    if (target.verdicts.size() > Bounds::kRoles) target.verdicts.resize(Bounds::kRoles);
}

void cut_holder(Holder& holder) {
    cut(holder.path, Bounds::kNameBytes);
    cut(holder.type, Bounds::kNameBytes);
    cut(holder.element, Bounds::kNameBytes);
}

// The whole censuses are not in a record. Their summaries have few entries, but long names.
void cut_heap(std::vector<ProcessHeap>& heap) {
    for (ProcessHeap& process : heap) {
        process.with_objects.reset();
        if (!process.held) continue;
        for (HolderChange& change : process.held->holders) cut_holder(change.holder);
        if (process.held->most) cut_holder(*process.held->most);
    }
}

void cut_plane(GrowthPlane& plane) {
    if (plane.sites.size() > Bounds::kSites) {
        std::int64_t left_out = 0;
        for (std::size_t i = Bounds::kSites; i < plane.sites.size(); ++i)
            left_out = add_bytes(left_out, plane.sites[i].bytes);
        plane.sites.resize(Bounds::kSites);
        plane.unattributed.push_back({"smaller_sites", left_out});
    }
    for (GrowthSite& site : plane.sites) {
        if (site.pids.size() > Bounds::kProcesses) site.pids.resize(Bounds::kProcesses);
        if (site.python.size() > Bounds::kPythonFrames) site.python.resize(Bounds::kPythonFrames);
        if (site.native.size() > Bounds::kNativeFrames) site.native.resize(Bounds::kNativeFrames);
        for (PythonFrame& frame : site.python) {
            cut(frame.function, Bounds::kNameBytes);
            cut(frame.file, Bounds::kNameBytes);
        }
        for (NativeFrame& frame : site.native) {
            cut(frame.symbol, Bounds::kNameBytes);
            cut(frame.module, Bounds::kNameBytes);
        }
    }
}

}  // namespace

void keep_within_bounds(DeathReport& report) {
    cut_deaths(report);
    cut_processes(report);
    cut_roles(report.then.targets.front());
    cut_heap(report.then.targets.front().heap);
    if (report.growth) {
        cut_plane(report.growth->resident);
        cut_plane(report.growth->mapped);
        cut_plane(report.growth->gpu);
        cut_plane(report.growth->pinned);
        cut_plane(report.growth->tensors_host);
        cut(report.growth->sentence, Bounds::kNameBytes);
        if (report.growth->owner) cut(report.growth->owner->place, Bounds::kNameBytes);
    }
    keep_last(report.events, Bounds::kEvents);
}

}  // namespace memscope
