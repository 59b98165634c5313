#pragma once
#include <string>

#include "base/units.h"
#include "cli/doctor.h"

namespace memscope {

// Whether GPU memory can be read here, by this library. Asks the driver once, and does not wait for it for ever.
Finding nvml_finding(const std::string& library, Seconds patience = Seconds{5});

}  // namespace memscope
