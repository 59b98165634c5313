#include "analysis/heap/object_growth.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
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

using HolderAddress = std::pair<std::uint64_t, std::string_view>;  // and the type

// Null for holders that share their key with another one.
template <class Key, class KeyOf>
std::map<Key, const Holder*> index_of(const std::vector<Holder>& holders, KeyOf key_of_holder) {
    std::map<Key, const Holder*> known;
    for (const Holder& holder : holders)
        if (const auto [entry, is_new] = known.emplace(key_of_holder(holder), &holder); !is_new)
            entry->second = nullptr;
    return known;
}

std::map<HolderKey, const Holder*> by_key(const std::vector<Holder>& holders) {
    return index_of<HolderKey>(holders, [](const Holder& holder) { return key_of(holder); });
}

struct Match {
    const Holder* was = nullptr;  // null: the earlier census does not have it, or it is ambiguous
    bool is_ambiguous = false;
};

// For each holder of `now` the same holder in `before`.
std::vector<Match> matches(const std::vector<Holder>& now, const std::vector<Holder>& before) {
    const auto address = [](const Holder& holder) { return HolderAddress(holder.address, holder.type); };
    const auto addresses = index_of<HolderAddress>(before, address);
    const auto present_addresses = index_of<HolderAddress>(now, address);
    const auto present = by_key(now), known = by_key(before);
    const bool has_addresses =
        !before.empty() && std::ranges::all_of(before, [](const Holder& each) { return each.address != 0; });
    std::vector<Match> all(now.size());
    std::set<const Holder*> taken;
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (now[i].address == 0 || !present_addresses.at(address(now[i]))) continue;
        const auto found = addresses.find(address(now[i]));
        if (found == addresses.end() || !found->second) continue;
        all[i].was = found->second;
        taken.insert(found->second);
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (all[i].was) continue;
        const HolderKey key = key_of(now[i]);
        const auto found = known.find(key);
        const bool is_only = present.at(key) && (found == known.end() || found->second);
        if (is_only && found != known.end() && !taken.contains(found->second)) all[i].was = found->second;
        all[i].is_ambiguous = !is_only && (now[i].address == 0 || !has_addresses);
    }
    return all;
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

// A container that is not known to be complete in both censuses can seem to retain more, although it got no items: an
// object that it shares was missed in one of them, or another holder of its items was.
bool is_doubtful(const Holder& now, const Holder& was, bool complete) {
    return now.kind == HolderKind::container && now.length <= was.length && !complete;
}

// True if the growth of a container can be that of the container inside it, whose size is not known exactly.
bool may_have_growth_of(const HolderGrowth& around, const HolderGrowth& inner) {
    constexpr std::int64_t kParts = 10;
    const Holder& holder = *inner.now;
    if (holder.reading == HolderReading::whole) return false;
    const std::int64_t most = holder.reading == HolderReading::estimated
                                  ? inner.retained_change.value_or(0) + inner.device_change.value_or(0)
                                  : signed_count(size_of(holder));
    return kParts * std::max<std::int64_t>(most, 0) >= around.own();
}

std::vector<HolderGrowth> holder_changes(const HeapCensus& census, const HeapCensus* earlier,
                                         const HeapCensus* between) {
    const std::vector<Holder>& now = objects_of(&census)->holders;
    const ObjectCensus* was = objects_of(earlier);
    const ObjectCensus* later = objects_of(between);
    const bool sizes = has_sizes(census) && (!earlier || has_sizes(*earlier));
    const bool everything = was && has_everything(*earlier);
    const bool complete = everything && has_everything(census);
    const bool unshared = has_unshared(*objects_of(&census), was);
    const std::vector<Match> known = was ? matches(now, was->holders) : std::vector<Match>(now.size());
    const bool later_sizes = later && has_sizes(census) && has_sizes(*between);
    const std::vector<Match> since = was && later_sizes ? matches(now, later->holders) : std::vector<Match>(now.size());
    // Changes since the census before this one, for holders that the earlier census does not have.
    struct Change {
        std::int64_t length = 0, host = 0, device = 0;
    };
    const auto change_since = [&](std::size_t i) -> std::optional<Change> {
        const Holder* first = since[i].was;
        if (!first) return std::nullopt;
        return Change{difference(now[i].length, first->length), difference(now[i].retained.n, first->retained.n),
                      difference(now[i].retained_device.n, first->retained_device.n)};
    };
    const bool from_zero = everything && was->holders.size() < kLongList;
    // The most that a holder can have retained if the earlier census does not list it.
    Bytes most;
    if (everything)
        most = Bytes{most_if_unlisted(was->holders)};
    else if (was)
        most = earlier->anon + earlier->swap;
    Bytes most_device;
    if (was)
        for (const TensorTotal& total : was->tensor_totals)
            if (total.device != "cpu" && total.device != "meta") most_device += total.bytes;
    if (everything) most_device = std::min(most_device, most);
    std::vector<HolderGrowth> all;
    all.reserve(now.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
        const Holder& holder = now[i];
        HolderGrowth growth{.now = &holder};
        if (holder.reading == HolderReading::missed) {
            all.push_back(growth);
            continue;
        }
        growth.is_new = from_zero && !known[i].was && !known[i].is_ambiguous;
        if (known[i].was || growth.is_new) {
            const Holder before = known[i].was ? *known[i].was : Holder{};
            growth.length_change = difference(holder.length, before.length);
            if (!sizes) {
                all.push_back(growth);
                continue;
            }
            growth.retained_change = difference(holder.retained.n, before.retained.n);
            growth.device_change = difference(holder.retained_device.n, before.retained_device.n);
            growth.own_host = *growth.retained_change;
            growth.own_device = *growth.device_change;
            const bool doubtful = known[i].was && is_doubtful(holder, before, complete);
            // Copied pages of the parent process make a container look larger, although it has got no items.
            if (doubtful || (unshared && *growth.length_change <= 0))
                growth.own_host = std::min<std::int64_t>(growth.own_host, 0);
            if (doubtful) growth.own_device = std::min<std::int64_t>(growth.own_device, 0);
        } else if (was && sizes && !known[i].is_ambiguous) {
            // A variable that is replaced while it is read can show the object of another variable.
            const bool is_fleeting =
                !everything && later_sizes && !since[i].was && holder.kind != HolderKind::container;
            if (!is_fleeting) {
                growth.own_host = difference((holder.retained - most).n, 0);
                growth.own_device = difference((holder.retained_device - most_device).n, 0);
            }
            if (const auto change = change_since(i); change && !is_doubtful(holder, *since[i].was, false)) {
                growth.own_host = change->host;
                growth.own_device = change->device;
            }
        }
        all.push_back(growth);
    }
    // The growth of an inner container is not own growth of the container around it. Exception: if the outer container
    // got more items, an inner container that was not there before is one of these items.
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::uint64_t outer = all[i].now->within;
        if (outer == 0 || outer > all.size() || outer == i + 1) continue;
        HolderGrowth& around = all[outer - 1];
        if (may_have_growth_of(around, all[i])) {
            around.own_host = std::min<std::int64_t>(around.own_host, 0);
            around.own_device = std::min<std::int64_t>(around.own_device, 0);
            continue;
        }
        if (!around.retained_change) {
            if (const auto outer_change = change_since(outer - 1)) {
                const auto change = change_since(i);
                if (!change && outer_change->length > 0) {
                    all[i].is_item = true;
                    continue;
                }
                if (change) {
                    around.own_host -= std::max<std::int64_t>(change->host, 0);
                    around.own_device -= std::max<std::int64_t>(change->device, 0);
                    continue;
                }
            }
            // Only a lower bound is known: the inner one may be all of it.
            around.own_host -= signed_count(all[i].now->retained.n);
            around.own_device -= signed_count(all[i].now->retained_device.n);
            continue;
        }
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

ObjectGrowth object_growth(const HeapCensus& now, const HeapCensus* earlier, const HeapCensus* between) {
    const ObjectCensus* is = objects_of(&now);
    if (!is) return {};
    const ObjectCensus* was = objects_of(earlier);
    const bool everything = was && has_everything(*earlier);
    ObjectGrowth growth{.holders = holder_changes(now, earlier, between),
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
