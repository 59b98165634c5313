#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace memscope {

// The line of the instruction at that byte of the bytecode, from the line table of its code object. Nothing where the
// compiler gave it none, and where the table does not reach. Instructions before the first are a frame that has not
// begun yet: it stands on the first line. One pass over the table at most, whatever is in it.
std::optional<int> line_of(int version, std::span<const std::byte> line_table, int first_line,
                           std::uint32_t instruction);

// As much of a table whose end was cut off as can be believed: whole entries.
std::span<const std::byte> whole_entries(int version, std::span<const std::byte> cut_line_table);

}  // namespace memscope
