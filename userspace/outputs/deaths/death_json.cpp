#include "outputs/deaths/death_json.h"

namespace memscope {
namespace {

template <class Read>
auto part(const std::optional<NamedProcess>& process, Read read) {
    return process ? std::optional((*process).*read) : std::nullopt;
}

void write_oom_kill(JsonWriter& json, const OomKill& oom) {
    json.field("constraint", name_of(oom.constraint));
    json.field("limit_bytes", oom.limit);
    json.field("limit_owner", known(oom.limit_owner));
    json.field("usage_bytes", oom.usage);
    json.field("cgroup", known(oom.victim_cgroup));
    json.field("triggered_by_pid", part(oom.trigger, &NamedProcess::pid));
    json.field("triggered_by_comm", part(oom.trigger, &NamedProcess::comm));
    json.field("oom_group_kill", oom.whole_cgroup);
}

void write_file(JsonWriter& json, std::string_view name, const std::optional<FullFile>& file) {
    if (!file) return json.field(name, nullptr);
    json.object(name, [&] {
        json.field("file", known(file->name));
        json.field("file_system", file->file_system);
        json.field("mount", known(file->mount));
    });
}

void write_allocation(JsonWriter& json, const FailedAllocation& failed) {
    json.field("call", known(std::string(failed.call)));  // null: only PyTorch has reported the failure
    json.field("reason", known(std::string(failed.reason)));
    json.field("size_bytes", failed.size);
    json.field("seconds_before_exit", failed.before_exit);
    write_file(json, "file", failed.file);
    json.field("tensor_bytes", failed.tensor);
}

void write_gpu(JsonWriter& json, const GpuShortage& shortage) {
    json.field("id", known(shortage.gpu));
    json.field("index", shortage.index ? std::optional<std::uint64_t>(*shortage.index) : std::nullopt);
    json.field("size_bytes", shortage.size);
    json.field("pinned_host_memory", shortage.of_host);
    json.field("seconds_before_exit", shortage.before_exit);
    json.field("free_bytes", shortage.free);
    json.field("total_bytes", shortage.total);
    json.field("read_seconds_after_failure", shortage.read_after);
    json.field("reserved_bytes", shortage.reserved);
    json.list("holders", [&] {
        for (const GpuShortage::Holder& holder : shortage.holders)
            json.object([&] {
                json.field("pid", holder.process.pid);
                json.field("comm", holder.process.comm);
                json.field("used_bytes", holder.used);
            });
    });
}

}  // namespace

void write_death(JsonWriter& json, const Death& death) {
    json.field("time", death.time);
    json.field("pid", death.id.pid);
    json.field("parent_pid", death.parent);
    json.field("comm", death.comm);
    json.field("command", death.command ? std::string_view(*death.command) : std::string_view());
    json.field("role", name_of(death.role.role));
    json.field("rank", death.role.rank);
    json.field("cause", name_of(death.cause));
    json.field("explanation", death.explanation);
    json.field("news", death.news);
    json.field("rss_anon_bytes", death.rss_anon);
    json.field("exit_status", death.exit_status);
    json.field("signal", death.signal);
    json.field("sender", name_of(death.sender));
    json.field("sender_pid", part(death.sent_by, &NamedProcess::pid));
    json.field("sender_comm", part(death.sent_by, &NamedProcess::comm));
    json.field("sent_for", known(death.sent_for));
    if (death.oom) write_oom_kill(json, *death.oom);
    if (death.cause == DeathCause::sigbus) write_file(json, "mapping", death.mapping);
    if (death.gpu) json.object("gpu", [&] { write_gpu(json, *death.gpu); });
    if (death.allocation) json.object("allocation", [&] { write_allocation(json, *death.allocation); });
}

}  // namespace memscope
