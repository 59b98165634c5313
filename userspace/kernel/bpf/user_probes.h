#pragma once
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "kernel/bpf/handles.h"

namespace memscope {

// To attach or detach a user probe, the kernel takes the mmap_lock of every process that maps the file, for writing. A
// process can hold its own mmap_lock for ever, and nothing ends that wait. So the watcher only describes the probes
// (ProbeRequest), and a helper process attaches, holds and detaches them: see watch/helpers/probe_holder.h.

enum class ProbeAt : std::uint32_t { call, return_ };

struct ProbePoint {
    std::uint64_t offset = 0;     // in the file
    std::uint64_t semaphore = 0;  // offset in the file of a counter that the kernel raises while attached; 0: none
    std::uint64_t cookie = 0;     // bpf_get_attach_cookie() of the program
};

struct ProbeGroup {
    Fd program{};
    ProbeAt at = ProbeAt::call;
    std::vector<ProbePoint> points{};
    auto fields() { return std::tie(program, at, points); }
};

// All probes of one file, in the order in which they are attached.
struct ProbeRequest {
    std::string purpose{};  // for error messages
    Fd library{};           // O_PATH is enough
    // One link for all points of a group (Linux 6.6 and later). It needs CAP_BPF and CAP_PERFMON, while single probes
    // need CAP_SYS_ADMIN on recent kernels. Detaching all points takes as long as detaching one.
    bool many_at_once = false;
    std::vector<ProbeGroup> groups{};
    auto fields() { return std::tie(purpose, library, many_at_once, groups); }
};

// Makes a group with a duplicate of the program's file descriptor.
Result<ProbeGroup> probe_group(const bpf_program* program, ProbeAt at, std::vector<ProbePoint> points);

// Call this before the program is loaded, if many_at_once will be used.
void prepare_for_many(bpf_program* program);

// The probes of one file, in every process that maps it, for as long as this object lives.
class AttachedProbes {
  public:
    AttachedProbes() = default;
    AttachedProbes(AttachedProbes&&) noexcept = default;
    AttachedProbes& operator=(AttachedProbes&&) = delete;
    ~AttachedProbes();  // detaches in reverse order; can block like attach()

    static Result<AttachedProbes> attach(const ProbeRequest& request);  // all or nothing

  private:
    Status add(const ProbeRequest& request, const ProbeGroup& group, const std::string& path);
    std::vector<Fd> descriptors_{};  // links, and perf events of single probes
};

}  // namespace memscope
