#include "analysis/limits/limit_sentence.h"

#include "base/text.h"

namespace memscope {

std::string limit_name(const std::string& owner) {
    if (owner == "own") return "its own limit";
    if (owner == "host") return "the host's memory";
    if (is_numa_owner(owner)) return "the memory of NUMA" + owner.substr(std::string_view("numa").size());
    return "the limit of " + printable(owner);
}

std::string limit_and_size(const EffectiveLimit& limit) {
    const std::string size = human_size(limit.limit);
    if (limit.owner == "own" || limit.owner == "host") return limit_name(limit.owner) + " of " + size;
    return limit_name(limit.owner) + " (" + size + ")";  // the name itself contains "of"
}

}  // namespace memscope
