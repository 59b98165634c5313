#include "kernel/decode.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <memscope/shared/wire.h>

namespace memscope {
namespace {

template <class Record>
std::optional<Record> as(std::span<const std::byte> bytes) {
    if (bytes.size() < sizeof(Record)) return std::nullopt;
    Record record;
    std::memcpy(&record, bytes.data(), sizeof record);
    return record;
}

Error malformed(const char* what) { return {std::make_error_code(std::errc::bad_message), what, {}}; }

std::string text_of(const char (&field)[MS_COMM_BYTES]) { return {field, ::strnlen(field, sizeof field)}; }

ProcessId id_of(const ms_header& h) { return {static_cast<pid_t>(h.pid), h.start_ns}; }

// Arguments are separated by NUL. The last one may have been cut off; it is kept as far as it goes.
std::vector<std::string> arguments(const ms_exec& event) {
    const char* at = event.argv;
    const char* const end = at + std::min<std::size_t>(event.argv_bytes, sizeof event.argv);
    std::vector<std::string> argv;
    while (at < end) {
        const char* stop = std::find(at, end, '\0');
        argv.emplace_back(at, stop);
        at = stop + 1;
    }
    return argv;
}

template <class Event>
Result<TreeEvent> placed(std::span<const std::byte> bytes) {
    const auto e = as<ms_placed>(bytes);
    if (!e) return malformed("fork or move record");
    return TreeEvent{Event{.time_ns = e->h.time_ns,
                           .id = id_of(e->h),
                           .parent = static_cast<pid_t>(e->parent),
                           .target = CgroupId{e->h.target},
                           .comm = text_of(e->comm)}};
}

Result<TreeEvent> execed(std::span<const std::byte> bytes) {
    const auto e = as<ms_exec>(bytes);
    if (!e) return malformed("exec record");
    return TreeEvent{Execed{.time_ns = e->h.time_ns,
                            .id = id_of(e->h),
                            .target = CgroupId{e->h.target},
                            .comm = text_of(e->comm),
                            .argv = arguments(*e)}};
}

Mappings mappings_of(const ms_mappings& wire, std::uint64_t page_size) {
    Mappings mappings;
    for (std::size_t i = 0; i < mappings.mapped.size(); ++i) mappings.mapped[i] = Bytes{wire.mapped[i] * page_size};
    for (std::size_t i = 0; i < mappings.unmapped.size(); ++i)
        mappings.unmapped[i] = Bytes{wire.unmapped[i] * page_size};
    for (std::size_t call = 0; call < mappings.failures.size(); ++call)
        for (std::size_t reason = 0; reason < mappings.failures[call].size(); ++reason)
            mappings.failures[call][reason] = wire.failures[call][reason];
    return mappings;
}

Result<TreeEvent> exited(std::span<const std::byte> bytes, std::uint64_t page_size) {
    const auto e = as<ms_exit>(bytes);
    if (!e) return malformed("exit record");
    return TreeEvent{Exited{.time_ns = e->h.time_ns,
                            .id = id_of(e->h),
                            .target = CgroupId{e->h.target},
                            .comm = text_of(e->comm),
                            .faults = {e->minor_faults, e->major_faults},
                            .exit_code = e->exit_code,
                            .forked_without_exec = (e->flags & MS_TASK_FORKED_WITHOUT_EXEC) != 0,
                            .mappings = (e->flags & MS_TASK_HAS_MAPPINGS) != 0
                                            ? std::optional(mappings_of(e->mappings, page_size))
                                            : std::nullopt}};
}

TaskSample task_of(const ms_task& row, std::uint64_t page_size) {
    const auto bytes = [&](auto pages) { return Bytes{pages > 0 ? static_cast<std::uint64_t>(pages) * page_size : 0}; };
    TaskSample task{.time_ns = row.time_ns,
                    .id = {static_cast<pid_t>(row.pid), row.start_ns},
                    .parent = static_cast<pid_t>(row.parent),
                    .target = CgroupId{row.target},
                    .comm = text_of(row.comm),
                    .memory = {},
                    .threads = row.threads,
                    .faults = {row.minor_faults, row.major_faults},
                    .faults_partial = (row.flags & MS_TASK_FAULTS_PARTIAL) != 0,
                    .forked_without_exec = (row.flags & MS_TASK_FORKED_WITHOUT_EXEC) != 0,
                    .mount_namespace = row.mount_namespace,
                    .cgroup = CgroupId{row.cgroup}};
    if ((row.flags & MS_TASK_OWNS_MEMORY) != 0)
        task.memory = AddressSpace{.anon = bytes(row.anon_pages),
                                   .file = bytes(row.file_pages),
                                   .shmem = bytes(row.shmem_pages),
                                   .swap = bytes(row.swap_pages),
                                   .virtual_size = bytes(row.virtual_pages),
                                   .page_tables = Bytes{row.page_table_bytes}};
    return task;
}

}  // namespace

Result<TreeEvent> decode_tree_event(std::span<const std::byte> record, std::uint64_t page_size) {
    const auto header = as<ms_header>(record);
    if (!header || header->size > record.size()) return malformed("event header");
    switch (header->kind) {
        case MS_EVENT_FORK:
            return placed<Forked>(record);
        case MS_EVENT_MOVE:
            return placed<Moved>(record);
        case MS_EVENT_EXEC:
            return execed(record);
        case MS_EVENT_EXIT:
            return exited(record, page_size);
        case MS_EVENT_CGROUPS_CHANGED:
            return TreeEvent{CgroupsChanged{}};
        case MS_EVENT_CUDA_MAPPED:
            return TreeEvent{CudaMapped{{static_cast<pid_t>(header->pid), header->start_ns}}};
        default:
            return malformed("event of unknown kind");
    }
}

Status decode_tasks(std::span<const std::byte> rows, std::uint64_t page_size, DecodedScan& scan) {
    if (rows.size() % sizeof(ms_task) != 0) return malformed("task rows");
    const std::size_t count = rows.size() / sizeof(ms_task);
    scan.tasks.resize(count);
    scan.mappings.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto bytes = rows.subspan(i * sizeof(ms_task));
        ms_task row;  // without its mappings at first: what is not looked at is not fetched from memory
        std::memcpy(&row, bytes.data(), offsetof(ms_task, mappings));
        ScannedTask& scanned = scan.tasks[i];
        const ProcessId before = scanned.task.id;
        const bool had_mappings = scanned.mappings != nullptr;
        const std::uint64_t activity_before = scanned.mappings_activity;
        scanned = {.task = task_of(row, page_size), .mappings_activity = row.mappings_activity};
        if ((row.flags & MS_TASK_HAS_MAPPINGS) == 0) continue;
        scanned.mappings = &scan.mappings[i];
        if (had_mappings && before == scanned.task.id && activity_before == row.mappings_activity) continue;
        std::memcpy(&row.mappings, bytes.subspan(offsetof(ms_task, mappings)).data(), sizeof row.mappings);
        scan.mappings[i] = mappings_of(row.mappings, page_size);
    }
    return Done{};
}

}  // namespace memscope
