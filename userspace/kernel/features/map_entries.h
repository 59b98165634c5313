#pragma once
#include <bpf/bpf.h>
#include <cstddef>

#include "kernel/handles.h"

namespace memscope {

// Calls visit(key, value) for each entry. If an entry is deleted meanwhile, the walk may start again, so it is bounded
// by `most`.
template <class Key, class Value, class Visit>
void for_each_entry(int map, std::size_t most, Visit visit) {
    Key key{};
    Value value{};
    bool first = true;
    for (std::size_t seen = 0; seen < most; ++seen) {
        Key next{};
        if (bpf_map_get_next_key(map, first ? nullptr : &key, &next) != 0) return;
        first = false;
        key = next;
        if (bpf_map_lookup_elem(map, &key, &value) == 0) visit(key, value);
    }
}

}  // namespace memscope
