#pragma once
#include <bpf/bpf.h>
#include <cstddef>
#include <set>
#include <string>

#include "kernel/handles.h"

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

}  // namespace memscope
