#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/growth/growth.h"

namespace memscope {

// True for code that the user of a job did not write: Python's own library, installed packages, and code that a library
// generated. It is the only definition, because the verdict and the growth table must name the same line.
bool is_library(const PythonFrame& frame);

// Merges sites of the same role with the same frames. Two native frames with the same function name are equal. Their
// offsets do not count. Largest first; sites without growth are left out.
std::vector<GrowthSite> merged_sites(std::vector<GrowthSite> sites);

// Growth of a role at one own line: the sum of all stacks with the same own frame.
struct OwnLine {
    GrowthSite site{};       // bytes and pids of all these stacks; the frames of the largest one
    std::size_t stacks = 1;  // number of these stacks
};
// Largest first; lines without growth are left out. Stacks without Python frames are not merged, because it is not
// known that they have a line of the user in common.
std::vector<OwnLine> own_lines(std::vector<GrowthSite> sites);

// Saturating addition, because growth in report files is untrusted input and could overflow.
std::int64_t add_bytes(std::int64_t a, std::int64_t b);

// True for frames of Python's import system, which stand between an `import` and the code of the module.
bool is_import_system(const PythonFrame& frame);

// The most useful frame for the user: the innermost one of the user's own code, so that a line of that code is named
// and not a line of the library that it calls. If all are in libraries: the innermost one that is not of the import
// system. Null if there is none.
template <class Frames>
const PythonFrame* own_frame(const Frames& frames) {
    for (const PythonFrame& frame : frames)
        if (!is_library(frame)) return &frame;
    for (const PythonFrame& frame : frames)
        if (!is_import_system(frame)) return &frame;
    return frames.empty() ? nullptr : &*frames.begin();
}

// True if the own line imports a module: it runs once, so it is not a leak.
template <class Frames>
bool is_import(const Frames& frames) {
    const PythonFrame* own = own_frame(frames);
    for (const PythonFrame& frame : frames) {
        if (is_import_system(frame)) return true;
        if (&frame == own) return false;
    }
    return false;
}

// "/usr/lib/python3/dist-packages/torch/nn/__init__.py": "torch.nn".
std::string module_name(std::string_view file);
std::string short_place(const PythonFrame& frame);  // "train.py:60"

// What the own line does, for the user: "validate", or "import transformers" if it imports a module. Empty if there is
// no own line. Raw bytes.
template <class Frames>
std::string own_name(const Frames& frames) {
    const PythonFrame* own = own_frame(frames);
    if (own == nullptr) return {};
    if (!is_import(frames)) return own->function.empty() ? "?" : own->function;
    // The outermost module that the line imports: it can import others.
    const PythonFrame* module = nullptr;
    for (const PythonFrame& frame : frames) {
        if (&frame == own) break;
        if (frame.function == "<module>" && !is_import_system(frame)) module = &frame;
    }
    return module == nullptr ? "import" : "import " + module_name(module->file);
}

// "validate (train.py:60)", "import transformers (train.py:33)". Empty if there is no own line. Raw bytes.
template <class Frames>
std::string own_place(const Frames& frames) {
    const PythonFrame* own = own_frame(frames);
    return own == nullptr ? std::string() : own_name(frames) + " (" + short_place(*own) + ")";
}

}  // namespace memscope
