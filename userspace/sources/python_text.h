#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "sources/process_memory.h"
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

}  // namespace memscope
