#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/units.h"
#include "kernel/capabilities.h"
#include "kernel/plan.h"

namespace memscope {

// One thing this machine has or has not. `note` says what was found, or what its absence costs.
struct Finding {
    std::string name{};
    std::optional<bool> present{};  // none: could not be found out
    std::string note{};
};

struct Diagnosis {
    KernelFacts facts{};
    CapabilitySet capabilities{};  // of this process, now
    std::vector<Finding> findings{};
    Plan plan{};
    std::optional<Error> obstacle{};  // why watching does not work here, if it does not
    bool tried = false;               // the programs were really loaded and attached

    bool works() const { return !obstacle; }
};

// Asks the machine, and where the caller may, loads and attaches everything once.
Diagnosis diagnose(const SysRoot& root);

std::string diagnosis_text(const Diagnosis& diagnosis);
std::string diagnosis_json(const Diagnosis& diagnosis);

// Whether GPU memory can be read here, by this library. Asks the driver once, and does not wait for it for ever.
Finding nvml_finding(const std::string& library, Seconds patience = Seconds{5});

}  // namespace memscope
