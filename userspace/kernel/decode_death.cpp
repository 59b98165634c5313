#include "kernel/decode_death.h"

#include <algorithm>
#include <cstring>

#include <memscope/shared/deaths.h>
#include <memscope/shared/gpu.h>

namespace memscope {
namespace {

template <std::size_t size>
std::string text_of(const char (&field)[size]) {
    return {field, ::strnlen(field, size)};
}

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

std::optional<OomMark> mark_of(const ms_last_words& words, std::uint64_t page_size) {
    const ms_oom_mark& mark = words.oom;
    if (mark.time_ns == 0 && mark.trigger == 0) return std::nullopt;
    return OomMark{.time_ns = mark.time_ns,
                   .chosen = mark.time_ns != 0 || (words.kill.flags & MS_SENT_WITH_VICTIM) != 0,
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

std::optional<GpuFailure> gpu_failure_of(const ms_gpu_failure& failure) {
    if (failure.time_ns == 0) return std::nullopt;
    GpuFailure last{.time_ns = failure.time_ns,
                    .size = Bytes{failure.bytes},
                    .device = {},
                    .reserved = Bytes{failure.held_bytes},
                    .of_host = failure.kind >= MS_GPU_DEVICE_KINDS};
    if (failure.has_uuid != 0)
        std::copy(std::begin(failure.uuid), std::end(failure.uuid), last.device.emplace().begin());
    return last;
}

}  // namespace

Result<LastWords> decode_death(std::span<const std::byte> record, std::uint64_t page_size) {
    ms_death e;
    if (record.size() < sizeof e)
        return Error{std::make_error_code(std::errc::bad_message), "record of a death: too short", {}};
    std::memcpy(&e, record.data(), sizeof e);
    if (e.h.kind != MS_EVENT_DEATH || e.h.size != sizeof e)
        return Error{std::make_error_code(std::errc::bad_message), "record of a death: another kind", {}};
    return LastWords{.time_ns = e.h.time_ns,
                     .id = {static_cast<pid_t>(e.h.pid), e.h.start_ns},
                     .target = CgroupId{e.h.target},
                     .parent = static_cast<pid_t>(e.parent),
                     .comm = text_of(e.comm),
                     .exit_code = e.exit_code,
                     .kill = signal_of(e.words.kill),
                     .other = signal_of(e.words.other),
                     .oom = mark_of(e.words, page_size),
                     .bus = file_of(e.words.bus),
                     .failure = failure_of(e.failure),
                     .gpu_failure = gpu_failure_of(e.gpu_failure)};
}

}  // namespace memscope
