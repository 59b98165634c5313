#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "kernel/handles.h"

namespace memscope {

// A program that is called at places of a file, in whoever runs it, until this goes.
struct UserProbe {
    Link one{};
    Fd many{};
};

enum class ProbeAt { call, return_ };

// At all places at once (6.6 and later): that takes CAP_BPF and CAP_PERFMON, where single ones take CAP_SYS_ADMIN on
// recent kernels; and the kernel lets go of all of them in the time of one. The program must have been prepared for it
// before it was loaded.
void prepare_for_many(bpf_program* program);
Result<UserProbe> probe_many(const bpf_program* program, const std::string& path,
                             std::span<const std::uint64_t> offsets, ProbeAt at);
Result<UserProbe> probe_one(const bpf_program* program, const std::string& path, std::uint64_t offset, ProbeAt at);

// A probe that the file has of its own, and that its code passes by while nobody watches: the kernel counts up the
// semaphore of each process that has the file mapped, and down again.
struct OwnProbe {
    std::uint64_t offset = 0;
    std::uint64_t semaphore = 0;  // offset in the file; 0: it has none
    std::uint64_t cookie = 0;     // for the program to know it by
};
Result<UserProbe> probe_many(const bpf_program* program, const std::string& path, std::span<const OwnProbe> probes);
Result<UserProbe> probe_one(const bpf_program* program, const std::string& path, const OwnProbe& probe);

}  // namespace memscope
