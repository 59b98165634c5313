#include "kernel/bpf/user_probes.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace memscope {
namespace {

// Values of Linux 6.6; the headers of the build may be older.
constexpr auto kUprobeMulti = static_cast<bpf_attach_type>(48);  // BPF_TRACE_UPROBE_MULTI
constexpr std::uint32_t kReturn = 1;                             // BPF_F_UPROBE_MULTI_RETURN

struct MultiLinkCreate {
    std::uint32_t program = 0;
    std::uint32_t target = 0;
    std::uint32_t attach_type = 0;
    std::uint32_t flags = 0;
    std::uint64_t path = 0;
    std::uint64_t offsets = 0;
    std::uint64_t reference_counters = 0;
    std::uint64_t cookies = 0;
    std::uint32_t count = 0;
    std::uint32_t probe_flags = 0;
    std::uint32_t pid = 0;  // 0: in every process
    std::uint32_t pad = 0;
};
static_assert(sizeof(MultiLinkCreate) == 64);

struct PerfLinkCreate {
    std::uint32_t program = 0;
    std::uint32_t target = 0;  // the perf event
    std::uint32_t attach_type = 0;
    std::uint32_t flags = 0;
    std::uint64_t cookie = 0;
};
static_assert(sizeof(PerfLinkCreate) == 24);

template <class Create>
Fd create_link(const Create& create) {
    return Fd(static_cast<int>(::syscall(SYS_bpf, BPF_LINK_CREATE, &create, sizeof(create))));
}

std::uint32_t number_of(const Fd& fd) { return static_cast<std::uint32_t>(fd.get()); }
std::uint64_t address_of(const void* data) { return reinterpret_cast<std::uint64_t>(data); }

// Invalid with errno set on failure.
Fd attach_many(const ProbeGroup& group, const std::string& path) {
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint64_t> semaphores;
    std::vector<std::uint64_t> cookies;
    bool has_semaphores = false;
    bool has_cookies = false;
    for (const ProbePoint& point : group.points) {
        offsets.push_back(point.offset);
        semaphores.push_back(point.semaphore);
        cookies.push_back(point.cookie);
        has_semaphores = has_semaphores || point.semaphore != 0;
        has_cookies = has_cookies || point.cookie != 0;
    }
    return create_link(MultiLinkCreate{.program = number_of(group.program),
                                       .attach_type = kUprobeMulti,
                                       .path = address_of(path.c_str()),
                                       .offsets = address_of(offsets.data()),
                                       .reference_counters = has_semaphores ? address_of(semaphores.data()) : 0,
                                       .cookies = has_cookies ? address_of(cookies.data()) : 0,
                                       .count = static_cast<std::uint32_t>(offsets.size()),
                                       .probe_flags = group.at == ProbeAt::return_ ? kReturn : 0});
}

Fd open_event(const ProbePoint& point, ProbeAt at, const std::string& path) {
    // Linux 4.17 and later. The kernel has fixed the bits of `config` in its interface: 0 is a return probe, 32 to 63
    // are the offset of the semaphore.
    const auto type = read_file(SysRoot{}.sys / "bus/event_source/devices/uprobe/type", 64);
    const auto number = type ? parse_number(trimmed(*type)) : std::nullopt;
    constexpr unsigned kSemaphoreShift = 32;
    if (!number || point.semaphore >> kSemaphoreShift != 0) {
        errno = EOPNOTSUPP;
        return {};
    }
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = static_cast<__u32>(*number);
    attributes.config = (at == ProbeAt::return_ ? 1U : 0U) | point.semaphore << kSemaphoreShift;
    attributes.config1 = address_of(path.c_str());
    attributes.config2 = point.offset;
    constexpr int kEveryProcess = -1;
    constexpr int kCpu = 0;  // an event of a probe counts on one CPU; its BPF program runs on all of them
    return Fd(
        static_cast<int>(::syscall(SYS_perf_event_open, &attributes, kEveryProcess, kCpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

// Before Linux 5.15 the program belongs to the perf event itself, without a link and without a cookie.
Result<Fd> run_at(const Fd& event, const Fd& program, std::uint64_t cookie) {
    Fd link = create_link(PerfLinkCreate{
        .program = number_of(program), .target = number_of(event), .attach_type = BPF_PERF_EVENT, .cookie = cookie});
    if (!link) {
        if (errno != EINVAL || cookie != 0) return system_error(errno, "");
        if (::ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program.get()) != 0) return system_error(errno, "");
    }
    if (::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) return system_error(errno, "");
    return link;
}

}  // namespace

void prepare_for_many(bpf_program* program) { bpf_program__set_expected_attach_type(program, kUprobeMulti); }

Result<ProbeGroup> probe_group(const bpf_program* program, ProbeAt at, std::vector<ProbePoint> points) {
    Fd own(::fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 0));
    if (!own) return system_error(errno, "duplicate the descriptor of a BPF program");
    return ProbeGroup{.program = std::move(own), .at = at, .points = std::move(points)};
}

AttachedProbes::~AttachedProbes() {
    while (!descriptors_.empty()) descriptors_.pop_back();
}

Status AttachedProbes::add(const ProbeRequest& request, const ProbeGroup& group, const std::string& path) {
    if (group.points.empty()) return Done{};
    if (request.many_at_once) {
        Fd link = attach_many(group, path);
        if (!link) return system_error(errno, request.purpose);
        descriptors_.push_back(std::move(link));
        return Done{};
    }
    for (const ProbePoint& point : group.points) {
        Fd event = open_event(point, group.at, path);
        if (!event) return system_error(errno, request.purpose);
        auto link = run_at(event, group.program, point.cookie);
        if (!link) return system_error(link.error().code.value(), request.purpose);
        descriptors_.push_back(std::move(event));
        if (*link) descriptors_.push_back(std::move(*link));
    }
    return Done{};
}

Result<AttachedProbes> AttachedProbes::attach(const ProbeRequest& request) {
    const std::string path = SysRoot{}.proc / "self/fd" / std::to_string(request.library.get());
    AttachedProbes probes;
    for (const ProbeGroup& group : request.groups)
        if (auto added = probes.add(request, group, path); !added) return added.error();
    return probes;
}

}  // namespace memscope
