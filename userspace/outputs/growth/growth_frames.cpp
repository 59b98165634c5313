#include "outputs/growth/growth_frames.h"

#include <algorithm>
#include <fmt/format.h>

#include "analysis/growth/attribution.h"

namespace memscope {
namespace {

bool evaluates_python(const NativeFrame& frame) {
    return frame.symbol.starts_with("_PyEval_") || frame.symbol.starts_with("PyEval_");
}

// Recognizes an interpreter without symbols by its file name.
bool is_interpreter(const NativeFrame& frame) {
    const std::string name = file_name(frame.module);
    return name.starts_with("python") || name.starts_with("libpython");
}

// Drops the native frames of the interpreter (the evaluation loop and its callers), because the Python frames show
// them.
std::span<const NativeFrame> called_from_python(std::span<const NativeFrame> native) {
    auto end = std::ranges::find_if(native, evaluates_python);
    if (end == native.end()) end = std::ranges::find_if(native, is_interpreter);
    return native.first(static_cast<std::size_t>(end - native.begin()));
}

}  // namespace

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

SiteParts parts_of(const GrowthSite& site) {
    const std::span python(site.python);
    if (python.empty()) return {.native = site.native};
    const PythonFrame* own = own_frame(site.python);
    const auto inside = static_cast<std::size_t>(own - python.data());
    return {.own = own,
            .inside = python.first(inside),
            .callers = python.subspan(inside + 1),
            .native = called_from_python(site.native)};
}

std::string name_of(const PythonFrame& frame) { return frame.function.empty() ? "?" : frame.function; }

std::string name_of(const NativeFrame& frame) {
    if (!frame.symbol.empty()) return frame.symbol;
    return fmt::format("{}+{:#x}", frame.module.empty() ? "[unmapped]" : file_name(frame.module), frame.offset);
}

std::string place_of(const PythonFrame& frame) {
    const std::string file = frame.file.empty() ? "?" : frame.file;
    return frame.line > 0 ? fmt::format("{}:{}", file, frame.line) : file;
}

}  // namespace memscope
