#pragma once
#include <optional>
#include <string>

#include "base/units.h"

namespace memscope {

// A CPython whose objects memscope can read.
struct DemoPython {
    std::string program{};  // path
    std::string version{};  // "3.11.2"
    std::string torch{};    // version of PyTorch; empty: it cannot be imported, or was not checked
    Bytes imported{};       // anonymous memory of the interpreter after it has imported PyTorch; 0 without PyTorch
};

// `python3` in PATH, else /usr/bin/python3. With `want_torch` an interpreter that has PyTorch is preferred. Can take
// about a minute, because importing PyTorch from a slow disk takes long. `nullopt`: there is no such interpreter on
// this machine.
std::optional<DemoPython> find_demo_python(bool want_torch);

}  // namespace memscope
