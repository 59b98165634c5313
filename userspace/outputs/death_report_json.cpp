#include "outputs/death_report_json.h"

#include "outputs/growth_json.h"
#include "outputs/json_writer.h"
#include "outputs/tick_json.h"
#include "outputs/version.h"

namespace memscope {
namespace {

std::optional<std::string_view> known(std::string_view text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

void write_file(JsonWriter& json, std::string_view name, const std::optional<FullFile>& file) {
    if (!file) return json.field(name, nullptr);
    json.object(name, [&] {
        json.field("name", known(file->name));
        json.field("file_system", known(file->file_system));
        json.field("mount", known(file->mount));
    });
}

void write_oom(JsonWriter& json, const OomKill& oom) {
    json.field("constraint", name_of(oom.constraint));
    json.field("limit_owner", known(oom.limit_owner));
    json.field("limit_bytes", oom.limit);
    json.field("usage_bytes", oom.usage);
    json.field("victim_cgroup", known(oom.victim_cgroup));
    json.field("triggered_by_pid", oom.trigger ? std::optional(oom.trigger->pid) : std::nullopt);
    json.field("triggered_by_comm", oom.trigger ? std::optional(oom.trigger->comm) : std::nullopt);
    json.field("whole_cgroup", oom.whole_cgroup);
    json.field("marked", oom.marked);
}

void write_allocation(JsonWriter& json, const FailedAllocation& failed) {
    json.object("allocation", [&] {
        json.field("call", failed.call);
        json.field("reason", failed.reason);
        json.field("size_bytes", failed.size);
        json.field("before_exit_seconds", failed.before_exit);
        write_file(json, "file", failed.file);
    });
}

void write_death(JsonWriter& json, const Death& death) {
    json.field("time", death.time);
    json.field("pid", death.id.pid);
    json.field("parent_pid", death.parent);
    json.field("comm", death.comm);
    json.field("command", death.command ? std::optional<std::string_view>(*death.command) : std::nullopt);
    json.field("role", name_of(death.role.role));
    json.field("rank", death.role.rank);
    json.field("cause", name_of(death.cause));
    json.field("signal", death.signal);
    json.field("exit_status", death.exit_status);
    json.field("sender", name_of(death.sender));
    json.field("sender_pid", death.sent_by ? std::optional(death.sent_by->pid) : std::nullopt);
    json.field("sender_comm", death.sent_by ? std::optional(death.sent_by->comm) : std::nullopt);
    json.field("sent_for", known(death.sent_for));
    json.field("news", death.news);
    json.field("rss_anon_bytes", death.rss_anon);
    json.field("rss_file_bytes", death.memory ? std::optional(death.memory->file) : std::nullopt);
    json.field("rss_shmem_bytes", death.memory ? std::optional(death.memory->shmem) : std::nullopt);
    if (death.oom) write_oom(json, *death.oom);
    if (death.mapping) write_file(json, "mapping", death.mapping);
    if (death.allocation) write_allocation(json, *death.allocation);
    json.field("explanation", death.explanation);
}

void write_series(JsonWriter& json, const std::vector<HeldPoint>& series) {
    json.list("series", [&] {
        for (const HeldPoint& point : series)
            json.object([&] {
                json.field("time", point.time);
                json.field("held_bytes", point.held);
                json.field("usage_bytes", point.usage);
            });
    });
}

void write_events(JsonWriter& json, const std::vector<PastEvent>& events) {
    json.list("events", [&] {
        for (const PastEvent& event : events)
            json.object([&] {
                json.field("time", event.time);
                json.field("kind", event.kind);
                json.field("text", event.text);
            });
    });
}

}  // namespace

std::string death_report_json(const DeathReport& report) {
    JsonWriter json;
    json.object([&] {
        json.field("report", "death");
        json.field("version", kDeathReportVersion);
        json.field("memscope", std::string_view(kVersion));
        json.field("time", report.decisive().time);
        json.field("target", report.target().info.name);
        json.list("deaths", [&] {
            for (const Death& death : report.deaths) json.object([&] { write_death(json, death); });
        });
        json.field("deaths_left_out", report.deaths_left_out);
        json.field("unreported", report.unreported);
        json.list("advice", [&] {
            for (const std::string& sentence : report.advice) json.value(sentence);
        });
        write_events(json, report.events);
        json.raw_object("then", tick_json(report.then, report.target()));
        json.field("processes_left_out", report.processes_left_out);
        json.field("left_out_resident_bytes", report.left_out_resident);
        if (report.growth)
            json.raw_object(
                "growth",
                growth_json({.time = report.then.time, .target = report.target().info, .growth = *report.growth}));
        else
            json.field("growth", nullptr);
        write_series(json, report.series);
    });
    return json.text();
}

}  // namespace memscope
