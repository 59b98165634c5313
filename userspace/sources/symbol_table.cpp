#include "sources/symbol_table.h"

#include <algorithm>

namespace memscope {

std::optional<std::string_view> SymbolTable::find(std::uint64_t address) const {
    const auto behind = std::upper_bound(starts_.begin(), starts_.end(), address);
    if (behind == starts_.begin()) return std::nullopt;
    const Rest& rest = rests_[static_cast<std::size_t>(behind - starts_.begin()) - 1];
    if (address - behind[-1] >= rest.size) return std::nullopt;
    return std::string_view(names_.c_str() + rest.name);  // up to its NUL
}

bool SymbolTable::is_sound() const {
    return starts_.size() == rests_.size() && std::ranges::is_sorted(starts_) &&
           std::ranges::all_of(rests_, [this](const Rest& rest) { return rest.name <= names_.size(); });
}

std::size_t SymbolTable::bytes() const {
    return starts_.capacity() * sizeof(starts_[0]) + rests_.capacity() * sizeof(Rest) + names_.capacity();
}

}  // namespace memscope
