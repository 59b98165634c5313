#include "sources/elf/symbol_cache.h"

#include <algorithm>
#include <set>

namespace memscope {

std::shared_ptr<const ModuleSymbols> SymbolCache::find(const FileIdentity& file) {
    const std::lock_guard lock(mutex_);
    const auto place = places_.find(file);
    if (place == places_.end()) return nullptr;
    order_.splice(order_.begin(), order_, place->second);
    return order_.front().second;
}

std::shared_ptr<const ModuleSymbols> SymbolCache::keep(const FileIdentity& file, ModuleSymbols symbols) {
    const std::lock_guard lock(mutex_);
    if (const auto place = places_.find(file); place != places_.end()) return place->second->second;
    Kept kept = equal_to(symbols);
    if (!kept) kept = std::make_shared<const ModuleSymbols>(std::move(symbols));
    order_.emplace_front(file, kept);
    places_.emplace(file, order_.begin());
    while (order_.size() > 1 && (order_.size() > limits_.files || held() > limits_.bytes)) drop_oldest();
    return kept;
}

std::shared_ptr<const ModuleSymbols> SymbolCache::equal_to(const ModuleSymbols& symbols) const {
    if (!symbols.build_id) return nullptr;
    const auto same = std::find_if(order_.begin(), order_.end(), [&](const auto& entry) {
        const ModuleSymbols& other = *entry.second;
        return other.build_id == symbols.build_id && other.segments == symbols.segments && other.table == symbols.table;
    });
    return same == order_.end() ? nullptr : same->second;
}

void SymbolCache::drop_oldest() {
    places_.erase(order_.back().first);
    order_.pop_back();
}

// Symbols that several files share count once.
std::size_t SymbolCache::held() const {
    std::set<const ModuleSymbols*> seen;
    std::size_t bytes = 0;
    for (const auto& [file, symbols] : order_)
        if (seen.insert(symbols.get()).second) bytes += symbols->table.bytes();
    return bytes;
}

std::size_t SymbolCache::files() const {
    const std::lock_guard lock(mutex_);
    return order_.size();
}

std::size_t SymbolCache::bytes() const {
    const std::lock_guard lock(mutex_);
    return held();
}

}  // namespace memscope
