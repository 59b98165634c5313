#include "sources/python_text.h"

#include <algorithm>
#include <cstring>

#include "sources/python_layout.h"

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

// Behind the head of a string that is not ASCII: its length in UTF-8, that UTF-8, and until 3.11 one more length.
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
        std::memcpy(&c, characters.data(), character_bytes);  // of this machine, as everything in its memory
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
        return plain_error("not a string that can be read");
    const auto count = std::min<std::uint64_t>(static_cast<std::uint64_t>(*length), most);
    const auto characters = memory.read(address + character_data(layout, state), count * state.character_bytes);
    if (!characters) return characters.error();
    return utf8_of(*characters, state.character_bytes);
}

}  // namespace memscope
