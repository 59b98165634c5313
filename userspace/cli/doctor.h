#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/units.h"
#include "kernel/capabilities.h"
#include "kernel/plan.h"

namespace memscope {

// A feature that this machine has or lacks. `note` says what was found, or what its absence costs.
struct Finding {
    std::string name{};
    std::optional<bool> present{};  // nullopt: could not be determined
    std::string note{};
};

struct Diagnosis {
    KernelFacts facts{};
    CapabilitySet capabilities{};  // of this process, now
    std::vector<Finding> findings{};
    Plan plan{};
    std::optional<Error> obstacle{};  // why watching does not work on this machine; nullopt: it works
    bool tried = false;               // the BPF programs were loaded and attached
    bool complete = false;            // the kernel refused none of them

    bool works() const { return !obstacle; }
};

// Examines the machine. If privileges suffice, loads and attaches all BPF programs once.
Diagnosis diagnose(const SysRoot& root);

std::string diagnosis_text(const Diagnosis& diagnosis);
std::string diagnosis_json(const Diagnosis& diagnosis);

// Whether GPU memory can be read with this library. Queries the driver once, with a timeout.
Finding nvml_finding(const std::string& library, Seconds patience = Seconds{5});

}  // namespace memscope
