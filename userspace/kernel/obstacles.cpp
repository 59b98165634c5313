#include "kernel/obstacles.h"

namespace memscope {

std::optional<Error> obstacle(const KernelFacts& facts, const Privileges& privileges, const Plan& plan) {
    if (!privileges.bpf || !privileges.perfmon)
        return plain_error("watching needs root, or CAP_BPF and CAP_PERFMON", "run it with sudo");
    if (!facts.btf)
        return plain_error("this kernel does not describe its types (no /sys/kernel/btf/vmlinux)",
                           "use a kernel built with CONFIG_DEBUG_INFO_BTF, as distributions have had since 2020");
    if (facts.lockdown == "confidentiality")
        return plain_error("the kernel is locked down for confidentiality, so BPF programs may not read its memory",
                           "boot with lockdown=integrity or none");
    if (facts.initial_pid_namespace == false)
        return plain_error("memscope runs in a PID namespace of its own and would not see most processes",
                           "run it in the host's PID namespace (docker: --pid=host, Kubernetes: hostPID: true)");
    for (const Choice& choice : plan)
        if (choice.needed && choice.program.empty())
            return plain_error("this kernel offers nothing for '" + std::string(choice.signal) + " " +
                                   std::string(choice.hook) + "': " + std::string(choice.without),
                               "`memscope doctor` shows all that is missing");
    return std::nullopt;
}

}  // namespace memscope
