#include "kernel/features/decode.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <memscope/shared/cuda.h>
#include <memscope/shared/deaths.h>
#include <memscope/shared/ranges.h>
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

template <std::size_t size>
std::string text_of(const char (&field)[size]) {
    return {field, ::strnlen(field, size)};
}

ProcessId id_of(const ms_header& h) { return {static_cast<pid_t>(h.pid), h.start_ns}; }

// Arguments are separated by NUL. The last argument may be truncated.
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
        case MS_EVENT_LIBRARY_MAPPED:
            return TreeEvent{LibraryMapped{header->time_ns, {static_cast<pid_t>(header->pid), header->start_ns}}};
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
        ms_task row;  // its mappings are copied below if they have changed, which saves memory reads
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

namespace {

Bytes pages(auto count, std::uint64_t page_size) {
    return Bytes{count > 0 ? static_cast<std::uint64_t>(count) * page_size : 0};
}

std::optional<SentSignal> signal_of(const ms_sent_signal& sent) {
    if (sent.number == 0) return std::nullopt;
    return SentSignal{.time_ns = sent.time_ns,
                      .number = static_cast<int>(sent.number),
                      .sender = {static_cast<pid_t>(sent.sender), text_of(sent.comm)},
                      .sender_target = CgroupId{sent.sender_target},
                      .by_kernel = (sent.flags & MS_SENT_BY_KERNEL) != 0,
                      .at_exit = (sent.flags & MS_SENT_AT_EXIT) != 0,
                      .with_victim = (sent.flags & MS_SENT_WITH_VICTIM) != 0};
}

std::optional<OomMark> mark_of(const ms_death_evidence& evidence, std::uint64_t page_size) {
    const ms_oom_mark& mark = evidence.oom;
    if (mark.time_ns == 0 && mark.trigger == 0) return std::nullopt;
    return OomMark{.time_ns = mark.time_ns,
                   .chosen = mark.time_ns != 0 || (evidence.kill.flags & MS_SENT_WITH_VICTIM) != 0,
                   .thread = static_cast<pid_t>(mark.thread),
                   .trigger = {static_cast<pid_t>(mark.trigger), text_of(mark.trigger_comm)},
                   .cgroup = {CgroupId{mark.cgroup}, text_of(mark.cgroup_name)},
                   .owner = {CgroupId{mark.owner}, text_of(mark.owner_name)},
                   .limit = pages(mark.limit_pages, page_size),
                   .usage = pages(mark.usage_pages, page_size),
                   .anon = pages(mark.anon_pages, page_size),
                   .whole_cgroup = (mark.flags & MS_OOM_WHOLE_CGROUP) != 0};
}

std::optional<FaultedFile> file_of(const ms_full_file& file) {
    if (file.magic == 0) return std::nullopt;
    return FaultedFile{.place = {file.magic, file.device}, .name = text_of(file.name)};
}

std::optional<LastFailure> failure_of(const ms_failure& failure) {
    if (failure.time_ns == 0 || failure.call >= MS_FAILED_COUNT || failure.reason >= MS_REASON_COUNT)
        return std::nullopt;
    LastFailure last{
        .time_ns = failure.time_ns, .call = failure.call, .reason = failure.reason, .size = Bytes{failure.bytes}};
    if (failure.magic != 0) last.place = FileSystemId{failure.magic, failure.device};
    return last;
}

std::optional<CudaFailure> cuda_failure_of(const ms_cuda_failure& failure) {
    if (failure.time_ns == 0) return std::nullopt;
    CudaFailure last{.time_ns = failure.time_ns,
                     .size = Bytes{failure.bytes},
                     .device = {},
                     .reserved = Bytes{failure.held_bytes},
                     .of_host = failure.kind >= MS_CUDA_DEVICE_KINDS};
    if (failure.has_uuid != 0)
        std::copy(std::begin(failure.uuid), std::end(failure.uuid), last.device.emplace().begin());
    return last;
}

std::optional<HostTensorFailure> host_failure_of(const ms_host_failure& failure) {
    if (failure.time_ns == 0) return std::nullopt;
    return HostTensorFailure{.time_ns = failure.time_ns, .size = Bytes{failure.bytes}};
}

}  // namespace

Result<DeathEvidence> decode_death(std::span<const std::byte> record, std::uint64_t page_size) {
    ms_death e;
    if (record.size() < sizeof e)
        return Error{std::make_error_code(std::errc::bad_message), "death record: too short", {}};
    std::memcpy(&e, record.data(), sizeof e);
    if (e.h.kind != MS_EVENT_DEATH || e.h.size != sizeof e)
        return Error{std::make_error_code(std::errc::bad_message), "death record: wrong kind or size", {}};
    return DeathEvidence{.time_ns = e.h.time_ns,
                         .id = {static_cast<pid_t>(e.h.pid), e.h.start_ns},
                         .target = CgroupId{e.h.target},
                         .parent = static_cast<pid_t>(e.parent),
                         .comm = text_of(e.comm),
                         .exit_code = e.exit_code,
                         .kill = signal_of(e.evidence.kill),
                         .other = signal_of(e.evidence.other),
                         .oom = mark_of(e.evidence, page_size),
                         .bus = file_of(e.evidence.bus),
                         .failure = failure_of(e.failure),
                         .cuda_failure = cuda_failure_of(e.cuda_failure),
                         .host_failure = host_failure_of(e.host_failure)};
}

namespace {

RangeKind kind_of(std::uint8_t wire) {
    switch (wire) {
        case MS_RANGE_ANONYMOUS:
            return RangeKind::anonymous;
        case MS_RANGE_SHARED:
            return RangeKind::shared;
        case MS_RANGE_ATTACHED:
            return RangeKind::attached;
        case MS_RANGE_FILE:
            return RangeKind::file;
        default:
            return RangeKind::other;
    }
}

bool is_backwards(const AddressRange& range) { return range.end < range.begin; }

}  // namespace

Result<RangeEvent> decode_range_event(std::span<const std::byte> record) {
    ms_range wire;
    if (record.size() < sizeof wire) return malformed("range record");
    std::memcpy(&wire, record.data(), sizeof wire);
    if (wire.h.kind != MS_EVENT_RANGE || wire.h.size > record.size()) return malformed("range header");
    if (wire.call < MS_RANGE_MAP || wire.call >= MS_RANGE_CALL_END || wire.kind >= MS_RANGE_KIND_END)
        return malformed("range of unknown kind");
    const RangeEvent event{.time_ns = wire.h.time_ns,
                           .id = {static_cast<pid_t>(wire.h.pid), wire.h.start_ns},
                           .call = static_cast<ms_range_call>(wire.call),
                           .range = {wire.begin, wire.end},
                           .old = {wire.old_begin, wire.old_end},
                           .kind = kind_of(wire.kind),
                           .access = {.readable = (wire.protection & MS_RANGE_READABLE) != 0,
                                      .writable = (wire.protection & MS_RANGE_WRITABLE) != 0,
                                      .executable = (wire.protection & MS_RANGE_EXECUTABLE) != 0},
                           .stack = wire.stack,
                           .lost = wire.lost,
                           .thread = static_cast<pid_t>(wire.thread),
                           .generation = wire.generation,
                           .parent = static_cast<pid_t>(wire.parent)};
    if (is_backwards(event.range) || is_backwards(event.old)) return malformed("range that ends before it begins");
    return event;
}

Result<RawStack> decode_stack(std::span<const std::byte> record) {
    ms_stack wire;
    if (record.size() < sizeof wire) return malformed("stack record");
    std::memcpy(&wire, record.data(), sizeof wire);
    if (wire.python_count > MS_PYTHON_FRAMES || wire.native_count > MS_NATIVE_FRAMES) return malformed("stack record");
    RawStack stack{.id = StackId{wire.id},
                   .space = SpaceId{wire.h.target},
                   .process = {static_cast<pid_t>(wire.h.pid), wire.h.start_ns},
                   .python = {},
                   .native = {wire.native, wire.native + wire.native_count},
                   .python_left_out = wire.python_left_out,
                   .recorded = std::chrono::nanoseconds(wire.h.time_ns)};
    stack.python.reserve(wire.python_count);
    const auto take = [&](std::size_t first, std::size_t end) {
        for (const ms_python_frame& frame : std::span(wire.python + first, wire.python + end))
            stack.python.push_back({frame.code, frame.instruction, frame.first_line});
    };
    if (wire.python_left_out == 0) {
        take(0, wire.python_count);
        return stack;
    }
    if (wire.python_count < MS_PYTHON_FRAMES) return malformed("stack record");
    const std::size_t oldest = MS_PYTHON_INNERMOST + wire.python_left_out % MS_PYTHON_OUTERMOST;
    take(0, MS_PYTHON_INNERMOST);
    take(oldest, MS_PYTHON_FRAMES);
    take(MS_PYTHON_INNERMOST, oldest);
    return stack;
}

Result<GrowthSample> decode_sample(std::span<const std::byte> record, std::uint64_t page_size) {
    ms_sample wire;
    if (record.size() < sizeof wire) return malformed("sample record");
    std::memcpy(&wire, record.data(), sizeof wire);
    return GrowthSample{.space = SpaceId{wire.h.target},
                        .process = {static_cast<pid_t>(wire.h.pid), wire.h.start_ns},
                        .time_ns = wire.h.time_ns,
                        .address = wire.address & ~(page_size - 1),
                        .stack = StackId{wire.stack},
                        .bytes = wire.pages * static_cast<std::int64_t>(page_size)};
}

Result<ms_code> decode_code(std::span<const std::byte> record) {
    ms_code code;
    if (record.size() < sizeof code) return malformed("code object record");
    std::memcpy(&code, record.data(), sizeof code);
    code.name[sizeof code.name - 1] = '\0';
    code.file[sizeof code.file - 1] = '\0';
    return code;
}

}  // namespace memscope
