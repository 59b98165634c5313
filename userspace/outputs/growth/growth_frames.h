#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "model/growth/growth.h"

namespace memscope {

// A stack as a person reads it. Frames stand innermost first, as in the model.
struct SiteParts {
    const PythonFrame* own = nullptr;       // the innermost line of the user's own code, or of any where all is library
    std::span<const PythonFrame> inside{};  // what it called: library code
    std::span<const PythonFrame> callers{};  // who called it
    std::span<const NativeFrame> native{};   // what the innermost Python line called; the whole stack without Python
};
SiteParts parts_of(const GrowthSite& site);

// Names as they are: bytes of the watched program, to be made printable by who shows them.
std::string name_of(const PythonFrame& frame);   // "?" where there is none
std::string name_of(const NativeFrame& frame);   // the symbol, else module and offset
std::string place_of(const PythonFrame& frame);  // "/job/train.py:41"; without the line where it is not known
std::string file_name(const std::string& path);  // behind the last slash

}  // namespace memscope
