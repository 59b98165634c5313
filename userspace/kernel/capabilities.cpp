#include "kernel/capabilities.h"

#include <charconv>
#include <linux/capability.h>

#include "base/text.h"

namespace memscope {
namespace {

constexpr CapabilityUse kUses[] = {
    {CAP_BPF, "CAP_BPF", "load BPF programs and create their maps", "nothing can be watched"},
    {CAP_PERFMON, "CAP_PERFMON", "BPF programs on tracepoints and iterators that read kernel memory",
     "nothing can be watched"},
    {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "read /proc/PID/environ of other users' processes",
     "no ranks of other users' processes"},
    {CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
     "read memory and /proc/PID/root of other users' processes; on older kernels also their environ",
     "no Python lines and no /dev/shm of other users' processes; on older kernels also no ranks"},
};

}  // namespace

CapabilitySet parse_capabilities(std::string_view status, std::string_view key) {
    CapabilitySet set;
    for_each_line(status, [&](std::string_view line) {
        if (!line.starts_with(key) || !line.substr(key.size()).starts_with(':')) return;
        const std::string_view digits = trimmed(line.substr(key.size() + 1));
        std::from_chars(digits.data(), digits.data() + digits.size(), set.bits, 16);
    });
    return set;
}

std::span<const CapabilityUse> capability_uses() { return kUses; }

}  // namespace memscope
