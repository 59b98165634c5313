#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "sources/process_memory.h"
#include <memscope/shared/stacks.h>

namespace memscope {

// What a code object is called and how its instructions become lines.
struct PythonCode {
    std::string function{};  // qualified from 3.11 on; any bytes; empty: not known
    std::string file{};
    int first_line = 0;
    std::vector<std::byte> line_table{};
    int version = 0;
    // The kernel's copy has only a part, or nothing that we can read.
    bool function_cut = false;
    bool file_cut = false;
    bool lines_cut = false;

    auto fields() {
        return std::tie(function, file, first_line, line_table, version, function_cut, file_cut, lines_cut);
    }
    bool is_cut() const { return function_cut || file_cut || lines_cut; }
    std::optional<int> line(std::uint32_t instruction) const;
};

constexpr std::size_t kNameLimit = 1024;                          // characters; what is beyond is left out
constexpr std::size_t kLineTableLimit = std::size_t{128} << 10U;  // thousands of lines in one function

PythonCode decode_python_code(const ms_code& record, int version);

// Reads from the process what was cut off. Fails, and leaves it as it was, where the process has no such code object
// any more: its address may be another one's now.
Status complete_python_code(PythonCode& code, const ProcessMemory& memory, const ms_python& layout,
                            std::uint64_t address);

}  // namespace memscope
