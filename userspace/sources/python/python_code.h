#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "sources/proc/process_memory.h"
#include <memscope/shared/stacks.h>

namespace memscope {

// What PyASCIIObject.state says of a string: the same bits in all versions from 3.10 to 3.14.
struct TextState {
    unsigned character_bytes = 0;  // 1, 2 or 4; 0: not laid out yet (3.10, 3.11)
    bool compact = false;          // its characters follow its head
    bool ascii = false;
    explicit TextState(std::uint32_t state)
        : character_bytes(state >> 2U & 7U), compact((state >> 5U & 1U) != 0), ascii((state >> 6U & 1U) != 0) {}
    bool is_plain() const { return compact && ascii && character_bytes == 1; }
};

// Characters of 1, 2 or 4 bytes as UTF-8. Bytes of a file name that are no UTF-8 come out as they are in the file
// system, where Python keeps them as lone surrogates; what else is no character becomes U+FFFD.
std::string utf8_of(std::span<const std::byte> characters, unsigned character_bytes);

// The string object at that address; what is beyond `most` characters is left out.
Result<std::string> read_python_text(const ProcessMemory& memory, const ms_python& layout, std::uint64_t address,
                                     std::size_t most);

// The line of the instruction at that byte of the bytecode, from the line table of its code object. Nothing where the
// compiler gave it none, and where the table does not reach. Instructions before the first are a frame that has not
// begun yet: it stands on the first line. One pass over the table at most, whatever is in it.
std::optional<int> line_of(int version, std::span<const std::byte> line_table, int first_line,
                           std::uint32_t instruction);

// As much of a table whose end was cut off as can be believed: whole entries.
std::span<const std::byte> whole_entries(int version, std::span<const std::byte> cut_line_table);

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
