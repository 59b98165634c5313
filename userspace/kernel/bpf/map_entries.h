#pragma once
#include <bpf/bpf.h>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "kernel/bpf/handles.h"

namespace memscope {

// Calls visit(key, value) for each entry, once for each key. If the current entry is deleted meanwhile, the kernel
// starts the walk again, so the number of steps is bounded by `most`.
template <class Key, class Value, class Visit>
void for_each_entry(int map, std::size_t most, Visit visit) {
    std::set<std::string> visited;  // keys as bytes
    Key key{};
    Value value{};
    bool first = true;
    for (std::size_t step = 0; step < most; ++step) {
        Key next{};
        if (bpf_map_get_next_key(map, first ? nullptr : &key, &next) != 0) return;
        first = false;
        key = next;
        const auto is_new = visited.emplace(reinterpret_cast<const char*>(&key), sizeof key).second;
        if (is_new && bpf_map_lookup_elem(map, &key, &value) == 0) visit(key, value);
    }
}

// Deletes entries of a hash map in portions, so that one call costs little however large the map is.
class MapSweep {
  public:
    // Checks at most `most` entries and continues there the next time. Deletes those for which is_gone(key, value) is
    // true. Returns the number of deleted entries.
    template <class Key, class Value, class IsGone>
    std::int64_t next(int map, std::size_t most, IsGone is_gone) {
        std::vector<Key> keys(most);
        std::vector<Value> values(most);
        auto count = static_cast<__u32>(most);
        const int error = bpf_map_lookup_batch(map, begins_ ? nullptr : &position_, &position_, keys.data(),
                                               values.data(), &count, nullptr);
        begins_ = error != 0;  // at the end of the map, or after an error
        if (error != 0 && error != -ENOENT) return 0;
        std::int64_t deleted = 0;
        for (__u32 i = 0; i < count; ++i)
            if (is_gone(keys[i], values[i]) && bpf_map_delete_elem(map, &keys[i]) == 0) ++deleted;
        return deleted;
    }

  private:
    __u32 position_ = 0;
    bool begins_ = true;
};

// For a sum that BPF programs change on several CPUs at the same time. A reader can see it below zero for a moment.
inline std::uint64_t not_below_zero(__s64 sum) { return sum > 0 ? static_cast<std::uint64_t>(sum) : 0; }

}  // namespace memscope
