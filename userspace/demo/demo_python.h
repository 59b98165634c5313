#pragma once
#include <optional>
#include <string>

#include "base/units.h"

namespace memscope {

// A CPython whose objects memscope can read.
struct DemoPython {
    std::string program{};  // path
    std::string version{};  // "3.11.2"
    std::string torch{};    // version of PyTorch, if it can be imported; empty: not, or not looked for
    Bytes imported{};       // anonymous memory of the interpreter after it has imported PyTorch; 0 without PyTorch
};

// `python3` in PATH, else /usr/bin/python3. With `want_torch` the first of them that has PyTorch is preferred. Takes at
// most about a minute, because importing PyTorch from a slow disk takes long. Nullopt: there is none on this machine.
std::optional<DemoPython> find_demo_python(bool want_torch);

}  // namespace memscope
