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

// The bits of PyASCIIObject.state. They are the same in all versions from 3.10 to 3.15.
struct TextState {
    unsigned character_bytes = 0;  // 1, 2 or 4; 0: the string is not ready yet (3.10, 3.11)
    bool compact = false;          // the characters follow the object header
    bool ascii = false;
    explicit TextState(std::uint32_t state)
        : character_bytes(state >> 2U & 7U), compact((state >> 5U & 1U) != 0), ascii((state >> 6U & 1U) != 0) {}
    bool is_plain() const { return compact && ascii && character_bytes == 1; }
};

// Converts characters of 1, 2 or 4 bytes to UTF-8. Bytes of a file name that are not valid UTF-8, which Python keeps as
// lone surrogates, come out as they are in the file system. Any other invalid character becomes U+FFFD.
std::string utf8_of(std::span<const std::byte> characters, unsigned character_bytes);

// Reads the string object at that address, at most `most` characters of it.
Result<std::string> read_python_text(const ProcessMemory& memory, const ms_python& layout, std::uint64_t address,
                                     std::size_t most);

// The line of the instruction at that byte of the bytecode, from the line table of its code object. None if the
// compiler gave the instruction no line, or if the table ends before it. A frame before its first instruction has not
// started yet and is on the first line. Makes at most one pass over any table, even a forged one.
std::optional<int> line_of(int version, std::span<const std::byte> line_table, int first_line,
                           std::uint32_t instruction);

// The complete entries of a truncated table.
std::span<const std::byte> whole_entries(int version, std::span<const std::byte> cut_line_table);

// The name of a code object and the data that maps its instructions to lines.
struct PythonCode {
    std::string function{};  // qualified from 3.11 on; any bytes; empty: not known
    std::string file{};
    int first_line = 0;
    std::vector<std::byte> line_table{};
    int version = 0;
    // The copy that the BPF program made is truncated, or is of a form that cannot be read.
    bool function_cut = false;
    bool file_cut = false;
    bool lines_cut = false;

    auto fields() {
        return std::tie(function, file, first_line, line_table, version, function_cut, file_cut, lines_cut);
    }
    bool is_cut() const { return function_cut || file_cut || lines_cut; }
    std::optional<int> line(std::uint32_t instruction) const;
};

constexpr std::size_t kNameLimit = 1024;                          // characters; longer names are cut off
constexpr std::size_t kLineTableLimit = std::size_t{128} << 10U;  // enough for thousands of lines in one function

PythonCode decode_python_code(const ms_code& record, int version);

// Reads the truncated parts from the process. Fails, and changes nothing, if the process does not have this code object
// any more, because its address can be reused.
Status complete_python_code(PythonCode& code, const ProcessMemory& memory, const ms_python& layout,
                            std::uint64_t address);

}  // namespace memscope
