#include "kernel/user_probes.h"

#include <cerrno>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace memscope {
namespace {

// As the kernel has them since 6.6; the headers we build with may be older.
constexpr auto kUprobeMulti = static_cast<bpf_attach_type>(48);  // BPF_TRACE_UPROBE_MULTI
constexpr std::uint32_t kReturn = 1;                             // BPF_F_UPROBE_MULTI_RETURN

struct LinkCreate {
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
    std::uint32_t pid = 0;  // everybody
    std::uint32_t pad = 0;
};
static_assert(sizeof(LinkCreate) == 64);

Error failed(int error) { return system_error(error, "follow calls of the CUDA driver"); }
Error own_failed(int error) { return system_error(error, "follow the probes of PyTorch"); }

Fd create_link(const LinkCreate& create) {
    return Fd(static_cast<int>(::syscall(SYS_bpf, BPF_LINK_CREATE, &create, sizeof(create))));
}

}  // namespace

void prepare_for_many(bpf_program* program) { bpf_program__set_expected_attach_type(program, kUprobeMulti); }

Result<UserProbe> probe_many(const bpf_program* program, const std::string& path,
                             std::span<const std::uint64_t> offsets, ProbeAt at) {
    const LinkCreate create{.program = static_cast<std::uint32_t>(bpf_program__fd(program)),
                            .attach_type = kUprobeMulti,
                            .path = reinterpret_cast<std::uint64_t>(path.c_str()),
                            .offsets = reinterpret_cast<std::uint64_t>(offsets.data()),
                            .count = static_cast<std::uint32_t>(offsets.size()),
                            .probe_flags = at == ProbeAt::return_ ? kReturn : 0};
    Fd link = create_link(create);
    if (!link) return failed(errno);
    return UserProbe{.many = std::move(link)};
}

Result<UserProbe> probe_one(const bpf_program* program, const std::string& path, std::uint64_t offset, ProbeAt at) {
    bpf_uprobe_opts options{};
    options.sz = sizeof(options);
    options.retprobe = at == ProbeAt::return_;
    Link link(bpf_program__attach_uprobe_opts(program, -1, path.c_str(), offset, &options));
    if (!link) return failed(errno);
    return UserProbe{.one = std::move(link)};
}

Result<UserProbe> probe_many(const bpf_program* program, const std::string& path, std::span<const OwnProbe> probes) {
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint64_t> semaphores;
    std::vector<std::uint64_t> cookies;
    for (const OwnProbe& probe : probes) {
        offsets.push_back(probe.offset);
        semaphores.push_back(probe.semaphore);
        cookies.push_back(probe.cookie);
    }
    Fd link = create_link({.program = static_cast<std::uint32_t>(bpf_program__fd(program)),
                           .attach_type = kUprobeMulti,
                           .path = reinterpret_cast<std::uint64_t>(path.c_str()),
                           .offsets = reinterpret_cast<std::uint64_t>(offsets.data()),
                           .reference_counters = reinterpret_cast<std::uint64_t>(semaphores.data()),
                           .cookies = reinterpret_cast<std::uint64_t>(cookies.data()),
                           .count = static_cast<std::uint32_t>(probes.size())});
    if (!link) return own_failed(errno);
    return UserProbe{.many = std::move(link)};
}

Result<UserProbe> probe_one(const bpf_program* program, const std::string& path, const OwnProbe& probe) {
    bpf_uprobe_opts options{};
    options.sz = sizeof(options);
    options.ref_ctr_offset = probe.semaphore;
    options.bpf_cookie = probe.cookie;
    Link link(bpf_program__attach_uprobe_opts(program, -1, path.c_str(), probe.offset, &options));
    if (!link) return own_failed(errno);
    return UserProbe{.one = std::move(link)};
}

}  // namespace memscope
