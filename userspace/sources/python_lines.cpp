#include "sources/python_lines.h"

#include <algorithm>
#include <limits>

namespace memscope {
namespace {

constexpr int kFirstWithLocations = 311;
constexpr std::uint64_t kInstructionBytes = 2;

unsigned number(std::byte byte) { return std::to_integer<unsigned>(byte); }

std::optional<int> as_line(std::int64_t line) {
    if (line < 0 || line > std::numeric_limits<int>::max()) return std::nullopt;
    return static_cast<int>(line);
}

// 3.10: pairs of bytes, how far the entry reaches and by how much its line differs from the one before.
std::optional<int> line_in_pairs(std::span<const std::byte> table, std::int64_t line, std::uint64_t instruction) {
    constexpr int kNoLine = -128;
    std::uint64_t end = 0;
    for (; table.size() >= 2; table = table.subspan(2)) {
        const int difference =
            number(table[1]) < 128 ? static_cast<int>(number(table[1])) : static_cast<int>(number(table[1])) - 256;
        end += number(table[0]);
        if (difference != kNoLine) line += difference;
        if (instruction < end) return difference == kNoLine ? std::nullopt : as_line(line);
    }
    return std::nullopt;
}

// From 3.11 on: entries that begin with a byte whose highest bit is set. It has the kind of the entry and its length
// in instructions; what follows is the difference of the line, in some kinds, and columns.
bool begins_entry(std::byte byte) { return (number(byte) & 0x80U) != 0; }

// Six bits a byte, the lowest first; a seventh says that there are more. The lowest bit of all is the sign.
std::optional<std::int64_t> signed_number(std::span<const std::byte> bytes) {
    constexpr unsigned kMostBytes = 6;  // what an int needs
    std::uint64_t value = 0;
    for (unsigned i = 0; i < kMostBytes && i < bytes.size(); ++i) {
        value |= std::uint64_t{number(bytes[i]) & 0x3FU} << (6 * i);
        if ((number(bytes[i]) & 0x40U) == 0) {
            const auto magnitude = static_cast<std::int64_t>(value >> 1U);
            return (value & 1U) != 0 ? -magnitude : magnitude;
        }
    }
    return std::nullopt;
}

constexpr unsigned kOneLine0 = 10, kOneLine2 = 12, kNoColumns = 13, kLong = 14, kNoLocation = 15;

std::optional<std::int64_t> line_difference(unsigned kind, std::span<const std::byte> rest) {
    if (kind == kLong || kind == kNoColumns) return signed_number(rest);
    if (kind >= kOneLine0 && kind <= kOneLine2) return kind - kOneLine0;
    return 0;
}

std::optional<int> line_in_locations(std::span<const std::byte> table, std::int64_t line, std::uint64_t instruction) {
    std::uint64_t end = 0;
    while (!table.empty() && begins_entry(table[0])) {
        const auto next = std::find_if(table.begin() + 1, table.end(), begins_entry);
        const auto size = static_cast<std::size_t>(next - table.begin());
        const unsigned kind = number(table[0]) >> 3U & 0xFU;
        const auto difference = line_difference(kind, table.subspan(1, size - 1));
        if (!difference) return std::nullopt;
        line += *difference;
        end += ((number(table[0]) & 7U) + 1) * kInstructionBytes;
        if (instruction < end) return kind == kNoLocation ? std::nullopt : as_line(line);
        table = table.subspan(size);
    }
    return std::nullopt;
}

}  // namespace

std::optional<int> line_of(int version, std::span<const std::byte> line_table, int first_line,
                           std::uint32_t instruction) {
    if (static_cast<std::int32_t>(instruction) < 0) return as_line(first_line);
    return version < kFirstWithLocations ? line_in_pairs(line_table, first_line, instruction)
                                         : line_in_locations(line_table, first_line, instruction);
}

std::span<const std::byte> whole_entries(int version, std::span<const std::byte> cut_line_table) {
    std::size_t size = cut_line_table.size();
    if (version < kFirstWithLocations) return cut_line_table.first(size - size % 2);
    while (size > 0 && !begins_entry(cut_line_table[size - 1])) --size;
    return cut_line_table.first(size > 0 ? size - 1 : 0);  // the last one may go on
}

}  // namespace memscope
