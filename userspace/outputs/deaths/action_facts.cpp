#include "outputs/deaths/action_facts.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/heap/holder_sentence.h"
#include "analysis/limits/processes_to_notify.h"
#include "base/text.h"
#include "outputs/deaths/death_json.h"
#include "outputs/heap/objects_json.h"
#include "outputs/json/json_writer.h"

namespace memscope {
namespace {

constexpr std::size_t kMostDeathsListed = 8;

class Environment {
  public:
    void add(std::string_view name, std::string_view value) {
        std::string text = printable(value);
        if (text.size() > kMostFactValueBytes) {
            text.resize(kMostFactValueBytes);
            text = valid_utf8(text);  // a character may have been cut in two
        }
        entries_.push_back(fmt::format("MEMSCOPE_{}={}", name, text));
    }
    void add(std::string_view name, std::integral auto number) { add(name, std::to_string(number)); }
    template <class T>
    void add(std::string_view name, const std::optional<T>& maybe) {
        if (maybe) add(name, *maybe);
    }
    void add(std::string_view name, Bytes bytes) { add(name, bytes.n); }
    void add_process(pid_t pid, std::string_view comm, const RoleKey& role) {
        add("PID", pid);
        add("COMM", comm);
        add("ROLE", name_of(role.role));
        add("RANK", role.rank);
    }
    std::vector<std::string> entries() && { return std::move(entries_); }

  private:
    std::vector<std::string> entries_{};
};

void write_target(JsonWriter& json, const TargetInfo& info) {
    json.object("target", [&] {
        json.field("name", info.name);
        json.field("kind", info.kind);
        json.field("cgroup_version", info.cgroup_version);
        if (info.pid) json.field("pid", *info.pid);
    });
}

void write_process(JsonWriter& json, std::string_view name, const Process* process) {
    if (!process) return json.field(name, nullptr);
    const auto& memory = process->task.memory;
    json.object(name, [&] {
        json.field("pid", process->task.id.pid);
        json.field("parent_pid", process->task.parent);
        json.field("start_time", process->start_time);
        json.field("comm", process->task.comm);
        json.field("command", process->command_text());
        json.field("role", name_of(process->role));
        json.field("rank", process->rank);
        json.field("rss_anon_bytes", memory ? std::optional(memory->anon) : std::nullopt);
        json.field("rss_shmem_bytes", memory ? std::optional(memory->shmem) : std::nullopt);
        json.field("swap_bytes", memory ? std::optional(memory->swap) : std::nullopt);
    });
}

const Forecast* forecast_of(const TargetSnapshot& target) {
    const ScopeVerdict* verdict = target.verdict();
    return verdict && verdict->forecast ? &*verdict->forecast : nullptr;
}

double to_millis(Seconds time) { return std::round(time.count() * 1000) / 1000; }

std::string precursor_json(const Snapshot& snapshot, const TargetSnapshot& target, const Precursor& precursor,
                           const ProcessesToNotify& who, const std::string& recording) {
    const MemoryState& memory = target.memory;
    const Forecast* forecast = forecast_of(target);
    JsonWriter json;
    json.object([&] {
        json.field("event", name_of(ActionEvent::precursor));
        json.field("time", snapshot.time);
        write_target(json, target.info);
        json.field("precursor", name_of(precursor.kind));
        json.field("since", precursor.since);
        json.field("reason", precursor.reason);
        json.field("oom_eta_seconds", forecast ? std::optional(to_millis(forecast->eta)) : std::nullopt);
        json.field("oom_eta_basis", forecast ? std::optional(word(forecast->basis)) : std::nullopt);
        const bool of_limit = forecast && forecast->limit;
        json.field("oom_eta_limit_bytes", of_limit ? std::optional(forecast->limit->limit) : std::nullopt);
        json.field("oom_eta_limit_owner", of_limit ? std::optional(forecast->limit->owner) : std::nullopt);
        json.field("verdict", word(target.verdict() ? target.verdict()->judgement.verdict : Verdict::insufficient));
        json.object("memory", [&] {
            json.field("usage_bytes", memory.usage);
            json.field("unreclaimable_bytes", memory.unreclaimable);
            json.field("effective_limit_bytes",
                       memory.effective ? std::optional(memory.effective->limit) : std::nullopt);
            json.field("limit_owner", memory.effective ? std::optional(memory.effective->owner) : std::nullopt);
        });
        json.field("recording", known(recording));
        write_process(json, "process", who.chosen);
        write_process(json, "grower", who.grower);
        const ProcessHeap* heap = heap_that_grows(target, snapshot.time);
        write_held(json, "holders", heap ? heap->held : std::nullopt);
        json.list("trainers", [&] {
            for (const Process* trainer : who.trainers) json.value(trainer->task.id.pid);
        });
    });
    return json.text();
}

std::string death_json(const ReportedDeath& report, const std::string& recording, std::size_t most) {
    const std::size_t shown = std::min(report.deaths.size(), most);
    JsonWriter json;
    json.object([&] {
        json.field("event", name_of(ActionEvent::death));
        json.field("time", report.deaths.front().time);
        write_target(json, report.target);
        json.field("report", known(report.file));
        json.field("recording", known(recording));
        json.list("deaths", [&] {
            for (std::size_t i = 0; i < shown; ++i) json.object([&] { write_death(json, report.deaths[i]); });
        });
        json.field("deaths_left_out", report.left_out + (report.deaths.size() - shown));
    });
    return json.text();
}

}  // namespace

std::string trainers_fact(const std::vector<ProcessId>& trainers) {
    std::vector<pid_t> pids;
    pids.reserve(trainers.size());
    for (const ProcessId& id : trainers) pids.push_back(id.pid);
    return fmt::format("MEMSCOPE_TRAINER_PIDS={}", fmt::join(pids, " "));
}

ActionFacts precursor_facts(const Snapshot& snapshot, const TargetSnapshot& target, const Precursor& precursor,
                            const std::string& recording) {
    ProcessesToNotify who = processes_to_notify(target);
    if (who.trainers.size() > kMostTrainersListed) who.trainers.resize(kMostTrainersListed);
    const MemoryState& memory = target.memory;
    Environment environment;
    environment.add("EVENT", name_of(ActionEvent::precursor));
    environment.add("TARGET", target.info.name);
    environment.add("PRECURSOR", name_of(precursor.kind));
    environment.add("REASON", precursor.reason);
    if (const Forecast* forecast = forecast_of(target)) {
        environment.add("OOM_ETA_SECONDS", fmt::format("{:.3f}", forecast->eta.count()));
        environment.add("OOM_ETA_BASIS", word(forecast->basis));
        if (forecast->limit) {
            environment.add("OOM_ETA_LIMIT_BYTES", forecast->limit->limit);
            environment.add("OOM_ETA_LIMIT_OWNER", forecast->limit->owner);
        }
    }
    environment.add("USAGE_BYTES", memory.usage);
    environment.add("UNRECLAIMABLE_BYTES", memory.unreclaimable);
    if (memory.effective) {
        environment.add("LIMIT_BYTES", memory.effective->limit);
        environment.add("LIMIT_OWNER", memory.effective->owner);
    }
    if (who.chosen)
        environment.add_process(who.chosen->task.id.pid, who.chosen->task.comm, {who.chosen->role, who.chosen->rank});
    if (who.grower) environment.add("GROWER_PID", who.grower->task.id.pid);
    if (const std::string text = holder_sentence(heap_that_grows(target, snapshot.time)); !text.empty())
        environment.add("HOLDERS", text);
    if (!recording.empty()) environment.add("RECORDING", recording);
    return {std::move(environment).entries(), precursor_json(snapshot, target, precursor, who, recording)};
}

ActionFacts death_facts(const ReportedDeath& report, const std::string& recording) {
    const Death& decisive = report.deaths.front();
    Environment environment;
    environment.add("EVENT", name_of(ActionEvent::death));
    environment.add("TARGET", report.target.name);
    environment.add("CAUSE", name_of(decisive.cause));
    environment.add("EXPLANATION", decisive.explanation);
    environment.add_process(decisive.id.pid, decisive.comm, decisive.role);
    environment.add("SIGNAL", decisive.signal);
    environment.add("EXIT_STATUS", decisive.exit_status);
    environment.add("SENDER", name_of(decisive.sender));
    environment.add("DEATHS", report.deaths.size() + report.left_out);
    if (!report.file.empty()) environment.add("REPORT", report.file);
    if (!recording.empty()) environment.add("RECORDING", recording);
    std::size_t most = kMostDeathsListed;
    std::string json = death_json(report, recording, most);
    while (json.size() > kMostFactsBytes && most > 1) json = death_json(report, recording, most /= 2);
    return {std::move(environment).entries(), std::move(json)};
}

}  // namespace memscope
