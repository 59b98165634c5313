#include "sources/python/python_code.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "sources/python/python_layout.h"

namespace memscope {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

void append_utf8(std::string& out, char32_t c) {
    const auto more = [&](unsigned shift) { out += static_cast<char>(0x80U | (c >> shift & 0x3FU)); };
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xC0U | c >> 6U);
        more(0);
    } else if (c < 0x10000) {
        out += static_cast<char>(0xE0U | c >> 12U);
        more(6);
        more(0);
    } else {
        out += static_cast<char>(0xF0U | c >> 18U);
        more(12);
        more(6);
        more(0);
    }
}

// After the header of a non-ASCII string: its length in UTF-8, a pointer to that UTF-8, and until 3.11 one more length.
std::uint64_t character_data(const ms_python& layout, const TextState& state) {
    constexpr int kFirstWithoutWideLength = 312;
    if (state.ascii) return layout.text_data;
    return layout.text_data + (layout.version < kFirstWithoutWideLength ? 24U : 16U);
}

}  // namespace

std::string utf8_of(std::span<const std::byte> characters, unsigned character_bytes) {
    std::string out;
    if (character_bytes != 1 && character_bytes != 2 && character_bytes != 4) return out;
    for (; characters.size() >= character_bytes; characters = characters.subspan(character_bytes)) {
        std::uint32_t c = 0;
        std::memcpy(&c, characters.data(), character_bytes);  // in the byte order of this machine
        if (c >= 0xDC80 && c <= 0xDCFF)
            out += static_cast<char>(c & 0xFFU);
        else
            append_utf8(out, c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF) ? kReplacement : c);
    }
    return out;
}

Result<std::string> read_python_text(const ProcessMemory& memory, const ms_python& layout, std::uint64_t address,
                                     std::size_t most) {
    const auto length = memory.read<std::int64_t>(address + kTextLength);
    if (!length) return length.error();
    const auto bits = memory.read<std::uint32_t>(address + kTextState);
    if (!bits) return bits.error();
    const TextState state(*bits);
    if (*length < 0 || !state.compact || state.character_bytes == 0 || state.character_bytes > 4 ||
        state.character_bytes == 3)
        return plain_error("not a readable Python string");
    const auto count = std::min<std::uint64_t>(static_cast<std::uint64_t>(*length), most);
    const auto characters = memory.read(address + character_data(layout, state), count * state.character_bytes);
    if (!characters) return characters.error();
    return utf8_of(*characters, state.character_bytes);
}

namespace {

constexpr int kFirstWithLocations = 311;
constexpr std::uint64_t kInstructionBytes = 2;

unsigned number(std::byte byte) { return std::to_integer<unsigned>(byte); }

std::optional<int> as_line(std::int64_t line) {
    if (line < 0 || line > std::numeric_limits<int>::max()) return std::nullopt;
    return static_cast<int>(line);
}

// 3.10: pairs of bytes. The first byte is the length of the entry, the second byte the difference to the line of the
// previous entry.
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

// From 3.11 on, an entry begins with a byte whose highest bit is set. It contains the kind of the entry and its length
// in instructions. The difference of the line (in some kinds) and columns follow.
bool begins_entry(std::byte byte) { return (number(byte) & 0x80U) != 0; }

// Six bits per byte, lowest first. The seventh bit is set if more bytes follow. The lowest bit of the number is the
// sign.
std::optional<std::int64_t> signed_number(std::span<const std::byte> bytes) {
    constexpr unsigned kMostBytes = 6;  // enough for an int
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
    return cut_line_table.first(size > 0 ? size - 1 : 0);  // the last entry may be incomplete
}

namespace {

int bounded_line(std::uint32_t line) {
    return static_cast<int>(std::min<std::uint32_t>(line, std::numeric_limits<int>::max()));
}

// The copy ends at its NUL. A copy that fills the whole field was probably truncated.
template <std::size_t size>
std::string copied_text(const char (&field)[size], std::uint32_t state, bool& cut) {
    if (!TextState(state).is_plain()) {
        cut = true;
        return {};
    }
    std::string text(field, ::strnlen(field, size));
    cut = text.size() >= size - 1;
    text.resize(std::min(text.size(), size - 1));
    return text;
}

Result<std::string> read_text_at(const ProcessMemory& memory, const ms_python& layout, std::uint64_t pointer) {
    const auto text = memory.read<std::uint64_t>(pointer);
    if (!text) return text.error();
    return read_python_text(memory, layout, *text, kNameLimit);
}

Result<std::vector<std::byte>> read_line_table(const ProcessMemory& memory, const ms_python& layout,
                                               std::uint64_t pointer) {
    const auto table = memory.read<std::uint64_t>(pointer);
    if (!table) return table.error();
    const auto size = memory.read<std::int64_t>(*table + layout.bytes_size);
    if (!size) return size.error();
    if (*size < 0) return plain_error("not a line table");
    return memory.read(*table + layout.bytes_data,
                       std::min<std::uint64_t>(static_cast<std::uint64_t>(*size), kLineTableLimit));
}

Error another() { return plain_error("its address now belongs to another code object"); }

bool begins_with(const std::vector<std::byte>& whole, const std::vector<std::byte>& part) {
    return whole.size() >= part.size() && std::equal(part.begin(), part.end(), whole.begin());
}

}  // namespace

std::optional<int> PythonCode::line(std::uint32_t instruction) const {
    return line_of(version, line_table, first_line, instruction);
}

PythonCode decode_python_code(const ms_code& record, int version) {
    PythonCode code;
    code.version = version;
    code.first_line = bounded_line(record.first_line);
    code.function = copied_text(record.name, record.name_state, code.function_cut);
    code.file = copied_text(record.file, record.file_state, code.file_cut);
    code.lines_cut = record.line_table_bytes > MS_LINE_TABLE_BYTES;
    auto table = std::as_bytes(std::span(record.line_table))
                     .first(std::min<std::size_t>(record.line_table_bytes, MS_LINE_TABLE_BYTES));
    if (code.lines_cut) table = whole_entries(version, table);
    code.line_table.assign(table.begin(), table.end());
    return code;
}

Status complete_python_code(PythonCode& code, const ProcessMemory& memory, const ms_python& layout,
                            std::uint64_t address) {
    const auto first_line = memory.read<std::uint32_t>(address + layout.code_first_line);
    if (!first_line) return first_line.error();
    if (bounded_line(*first_line) != code.first_line) return another();

    // All three are read even if they are complete: if they match the copy, it is still the same object.
    auto function = read_text_at(memory, layout, address + layout.code_name);
    if (!function) return function.error();
    auto file = read_text_at(memory, layout, address + layout.code_file);
    if (!file) return file.error();
    auto lines = read_line_table(memory, layout, address + layout.code_line_table);
    if (!lines) return lines.error();
    if (!function->starts_with(code.function) || !file->starts_with(code.file) || !begins_with(*lines, code.line_table))
        return another();

    code.function = *std::move(function);
    code.file = *std::move(file);
    code.line_table = *std::move(lines);
    code.function_cut = code.file_cut = code.lines_cut = false;
    return Done{};
}

}  // namespace memscope
