#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <string_view>

namespace memscope {

struct ElfNote {
    std::uint32_t type = 0;
    std::string_view owner{};  // includes the NUL at its end
    std::string_view content{};
};

// Calls visit(note) for each note of a section or segment until it returns false. Returns false if a note does not fit
// into the text.
template <class Visit>
bool for_each_note(std::string_view notes, Visit visit) {
    const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
    while (!notes.empty()) {
        Elf64_Nhdr header{};
        if (notes.size() < sizeof header) return false;
        std::memcpy(&header, notes.data(), sizeof header);
        notes.remove_prefix(sizeof header);
        const std::uint64_t owner_size = padded(header.n_namesz);
        if (owner_size > notes.size() || header.n_descsz > notes.size() - owner_size) return false;
        const ElfNote note{.type = header.n_type,
                           .owner = notes.substr(0, header.n_namesz),
                           .content = notes.substr(owner_size, header.n_descsz)};
        if (!visit(note)) return true;
        notes.remove_prefix(std::min<std::uint64_t>(owner_size + padded(header.n_descsz), notes.size()));
    }
    return true;
}

}  // namespace memscope
