#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "model/growth/growth.h"

namespace memscope {

// The parts of a stack, for text output. Frames are innermost first, as in the model.
struct SiteParts {
    const PythonFrame* own = nullptr;        // the own line; the innermost line if all of the stack is library code
    std::span<const PythonFrame> inside{};   // library frames that the own line called
    std::span<const PythonFrame> callers{};  // frames that called the own line
    std::span<const NativeFrame> native{};   // called by the innermost Python line; the whole stack without Python
};
SiteParts parts_of(const GrowthSite& site);

// Names are raw bytes of the watched program: the caller must make them printable.
std::string name_of(const PythonFrame& frame);   // "?" if the name is empty
std::string name_of(const NativeFrame& frame);   // the symbol, else module and offset
std::string place_of(const PythonFrame& frame);  // "/job/train.py:41"; the file alone if the line is not known
std::string file_name(const std::string& path);  // the part after the last slash

}  // namespace memscope
