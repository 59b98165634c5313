#include "sources/python_code.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "sources/python_lines.h"
#include "sources/python_text.h"

namespace memscope {
namespace {

int bounded_line(std::uint32_t line) {
    return static_cast<int>(std::min<std::uint32_t>(line, std::numeric_limits<int>::max()));
}

// The copy ends at its NUL. One that fills its field was probably longer.
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

Error another() { return plain_error("another code object has its address now"); }

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

    // Whole or not, all three are read: that they go on as they began shows that it is still the same object.
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
