#include "analysis/heap/object_growth.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace memscope {
namespace {

// The reader lists at most 4,000 containers by size and 4,000 by length, and at most 5,000 types, tensors and arrays
// each. A list of this length or longer may have been cut.
constexpr std::size_t kLongList = 4000;

std::int64_t signed_count(std::uint64_t n) { return static_cast<std::int64_t>(std::min<std::uint64_t>(n, INT64_MAX)); }
std::int64_t difference(std::uint64_t now, std::uint64_t before) { return signed_count(now) - signed_count(before); }

// The Python objects to compare with. Null if they were not read.
const ObjectCensus* objects_of(const HeapCensus* census) {
    if (!census || !census->objects || census->objects->refusal != ObjectsRefusal::none) return nullptr;
    return census->objects.get();
}

// True if the census has read everything, so that an object that it does not list did not exist.
bool has_everything(const HeapCensus& census) {
    constexpr HeapGap kLost[] = {HeapGap::torn, HeapGap::not_present, HeapGap::too_many, HeapGap::time_limit};
    return census.objects && census.objects->sampled >= 1 &&
           std::ranges::none_of(kLost, [&](HeapGap gap) { return census.incomplete.contains(gap); });
}

using HolderKey = std::pair<std::string, std::string>;  // path without lines, type
HolderKey key_of(const Holder& holder) { return {path_without_lines(holder.path), holder.type}; }
std::string key_of(const ObjectsOfType& type) { return type.type; }
auto key_of(const TensorGroup& group) { return std::tuple(group.device, group.dtype, group.shape, group.only_native); }
std::string key_of(const TensorTotal& total) { return total.device; }
auto key_of(const ArrayGroup& group) { return std::tuple(group.dtype, group.shape); }

std::uint64_t count_of(const ObjectsOfType& type) { return type.count; }
std::uint64_t count_of(const TensorGroup& group) { return group.count; }
std::uint64_t count_of(const TensorTotal& total) { return total.tensors; }
std::uint64_t count_of(const ArrayGroup& group) { return group.count; }

template <class T>
std::vector<Changed<T>> changes(const std::vector<T>& now, const std::vector<T>* before, bool everything) {
    std::map<decltype(key_of(std::declval<const T&>())), const T*> known;
    if (before)
        for (const T& each : *before) known.emplace(key_of(each), &each);
    const bool from_zero = before && everything && before->size() < kLongList;
    std::vector<Changed<T>> changed;
    changed.reserve(now.size());
    for (const T& each : now) {
        Changed<T> entry{.now = &each};
        const auto found = known.find(key_of(each));
        if (found != known.end() || from_zero) {
            const T was = found != known.end() ? *found->second : T{};
            entry.count_change = difference(count_of(each), count_of(was));
            entry.bytes_change = difference(each.bytes.n, was.bytes.n);
        }
        changed.push_back(entry);
    }
    return changed;
}

// Null for containers that share their path and type with another one.
std::map<HolderKey, const Holder*> by_key(const std::vector<Holder>& holders) {
    std::map<HolderKey, const Holder*> known;
    for (const Holder& holder : holders)
        if (const auto [entry, is_new] = known.emplace(key_of(holder), &holder); !is_new) entry->second = nullptr;
    return known;
}

// The largest size that a container can have had if the list does not contain it. A list that was cut has at least the
// kLongList largest containers.
std::uint64_t most_if_unlisted(const std::vector<Holder>& holders) {
    if (holders.size() < kLongList) return 0;
    std::vector<std::uint64_t> sizes;
    sizes.reserve(holders.size());
    for (const Holder& holder : holders) sizes.push_back(size_of(holder));
    const auto last = sizes.begin() + (kLongList - 1);
    std::ranges::nth_element(sizes, last, std::greater{});
    return *last;
}

// True if a forked process has copied memory of its parent between the two censuses.
bool has_unshared(const ObjectCensus& is, const ObjectCensus* was) {
    constexpr Bytes kMoreInherited{64 << 10};
    return was && is.inherited && was->inherited && *was->inherited > *is.inherited + kMoreInherited;
}

std::vector<HolderGrowth> holder_changes(const std::vector<Holder>& now, const std::vector<Holder>* before,
                                         bool everything, bool sizes, bool unshared) {
    const auto present = by_key(now);
    const auto known = before ? by_key(*before) : std::map<HolderKey, const Holder*>{};
    const bool from_little = before && everything;
    const bool from_zero = from_little && before->size() < kLongList;
    const std::uint64_t most = from_little ? most_if_unlisted(*before) : 0;
    std::vector<HolderGrowth> all;
    all.reserve(now.size());
    for (const Holder& holder : now) {
        HolderGrowth growth{.now = &holder};
        const HolderKey key = key_of(holder);
        const auto found = known.find(key);
        growth.is_new = from_zero && found == known.end();
        const bool matched = found != known.end() && found->second && present.at(key);
        if (matched || (growth.is_new && present.at(key))) {
            const Holder was = matched ? *found->second : Holder{};
            growth.length_change = difference(holder.length, was.length);
            if (!sizes) {
                all.push_back(growth);
                continue;
            }
            growth.retained_change = difference(holder.retained.n, was.retained.n);
            growth.device_change = difference(holder.retained_device.n, was.retained_device.n);
            growth.own_host = *growth.retained_change;
            growth.own_device = *growth.device_change;
            // Copied pages of the parent process make a container look larger, although it has got no items.
            if (unshared && *growth.length_change <= 0) growth.own_host = std::min<std::int64_t>(growth.own_host, 0);
        } else if (from_little && found == known.end() && present.at(key)) {
            growth.own_host = difference((holder.retained - Bytes{most}).n, 0);
            growth.own_device = difference((holder.retained_device - Bytes{most}).n, 0);
        }
        all.push_back(growth);
    }
    // The growth of an inner container is not own growth of the container around it. Exception: if the outer container
    // got more items, an inner container that was not there before is one of these items.
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::uint64_t outer = all[i].now->within;
        if (outer == 0 || outer > all.size() || outer == i + 1) continue;
        HolderGrowth& around = all[outer - 1];
        if (!around.retained_change) continue;
        const bool was_there = all[i].retained_change && !all[i].is_new;
        if (!was_there && *around.length_change > 0) {
            all[i].is_item = true;
            continue;
        }
        around.own_host -= std::max<std::int64_t>(all[i].retained_change.value_or(all[i].own_host), 0);
        around.own_device -= std::max<std::int64_t>(all[i].device_change.value_or(all[i].own_device), 0);
    }
    return all;
}

std::int64_t change_of(const HolderGrowth& growth) {
    return std::max<std::int64_t>(growth.retained_change.value_or(0) + growth.device_change.value_or(0), 0);
}

}  // namespace

std::uint64_t size_of(const Holder& holder) { return holder.retained.n + holder.retained_device.n; }

std::int64_t HolderGrowth::own() const {
    return std::max<std::int64_t>(own_host, 0) + std::max<std::int64_t>(own_device, 0);
}

bool has_sizes(const HeapCensus& census) { return !census.incomplete.contains(HeapGap::time_limit); }

std::string path_without_lines(const std::string& path) {
    std::string without;
    without.reserve(path.size());
    for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i] == ':') {
            std::size_t end = i + 1;
            while (end < path.size() && std::isdigit(static_cast<unsigned char>(path[end]))) ++end;
            if (end > i + 1 && end < path.size() && path[end] == ')') i = end;
        }
        without += path[i];
    }
    return without;
}

ObjectGrowth object_growth(const HeapCensus& now, const HeapCensus* earlier) {
    const bool sizes = has_sizes(now) && (!earlier || has_sizes(*earlier));
    const ObjectCensus* is = objects_of(&now);
    if (!is) return {};
    const ObjectCensus* was = objects_of(earlier);
    const bool everything = was && has_everything(*earlier);
    ObjectGrowth growth{.holders = holder_changes(is->holders, was ? &was->holders : nullptr, everything, sizes,
                                                  has_unshared(*is, was)),
                        .types = changes(is->types, was ? &was->types : nullptr, everything),
                        .tensors = changes(is->tensors, was ? &was->tensors : nullptr, everything),
                        .tensor_totals = changes(is->tensor_totals, was ? &was->tensor_totals : nullptr, everything),
                        .arrays = changes(is->arrays, was ? &was->arrays : nullptr, everything)};
    std::ranges::stable_sort(growth.holders, [](const HolderGrowth& a, const HolderGrowth& b) {
        const auto rank = [](const HolderGrowth& each) {
            const std::int64_t longer =
                each.retained_change ? 0 : std::max<std::int64_t>(each.length_change.value_or(0), 0);
            return std::tuple(each.own(), change_of(each), longer, size_of(*each.now));
        };
        return rank(a) > rank(b);
    });
    return growth;
}

bool is_type(std::string_view qualified, std::string_view name) {
    if (name.empty() || !qualified.ends_with(name)) return false;
    return qualified.size() == name.size() || qualified[qualified.size() - name.size() - 1] == '.';
}

bool holds_type(const Holder& holder, std::string_view name) {
    const std::string_view element = std::string_view(holder.element).substr(0, holder.element.find(' '));
    return is_type(holder.type, name) || is_type(element, name);
}

}  // namespace memscope
