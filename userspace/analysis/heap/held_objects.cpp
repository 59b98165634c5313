#include "analysis/heap/held_objects.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "analysis/heap/object_growth.h"

namespace memscope {
namespace {

constexpr double kWorthTelling = 0.1;  // share of the growth

std::int64_t change(Bytes now, Bytes before) { return static_cast<std::int64_t>(now.n - before.n); }
Bytes positive(std::int64_t bytes) { return {bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0}; }

std::string_view name_of_growth(HeapPart part) {
    switch (part) {
        case HeapPart::malloc_free:
            return "freed memory that malloc keeps";
        case HeapPart::python_free:
            return "freed memory that Python's allocator keeps";
        case HeapPart::mapped:
            return "large mappings of no known allocator";
        case HeapPart::stacks:
            return "stacks of threads";
        case HeapPart::other:
            return "data of libraries";
        case HeapPart::malloc_live:
        case HeapPart::python_live:
            break;
    }
    return "live memory that no container of Python holds";
}

std::vector<OtherGrowth> other_growth(const HeapCensus& now, const HeapCensus& before, const HeldObjects& held) {
    std::vector<OtherGrowth> others;
    std::int64_t live = -static_cast<std::int64_t>(held.explained.n);
    for (std::size_t i = 0; i < kHeapParts; ++i) {
        const auto part = static_cast<HeapPart>(i);
        const std::int64_t by = change(now.part(part), before.part(part));
        if (part == HeapPart::malloc_live || part == HeapPart::python_live)
            live += by;
        else
            others.push_back({std::string(name_of_growth(part)), positive(by)});
    }
    // A container whose change is not known may hold the rest of the live memory.
    const bool known = std::ranges::none_of(held.holders, [&](const HolderChange& each) {
        return is_unknown(each) &&
               static_cast<double>(each.holder.retained.n) >= kWorthTelling * static_cast<double>(held.grown);
    });
    if (known) others.push_back({std::string(name_of_growth(HeapPart::malloc_live)), positive(live)});
    std::erase_if(others, [&](const OtherGrowth& each) {
        return static_cast<double>(each.bytes.n) < kWorthTelling * static_cast<double>(held.grown) || each.bytes.n == 0;
    });
    std::ranges::stable_sort(others, std::greater{}, [](const OtherGrowth& each) { return each.bytes; });
    return others;
}

std::int64_t on_devices(const ObjectCensus& objects) {
    std::int64_t sum = 0;
    for (const TensorTotal& total : objects.tensor_totals)
        if (total.device != "cpu" && total.device != "meta") sum += static_cast<std::int64_t>(total.bytes.n);
    return sum;
}

HolderChange change_at(const HolderGrowth& growth) {
    return {.holder = *growth.now,
            .length_change = growth.length_change,
            .retained_change = growth.retained_change,
            .device_change = growth.device_change,
            .own_host = growth.own_host,
            .own_device = growth.own_device};
}

// The containers that grew most. The largest container whose change is unknown replaces the last of them if it is
// larger: it may hold the growth that the others do not explain.
std::vector<HolderChange> most_important(const std::vector<HolderGrowth>& holders) {
    std::vector<HolderChange> most;
    const HolderGrowth* largest_unknown = nullptr;
    for (const HolderGrowth& each : holders) {
        if (most.size() < HeldObjects::kMostHolders)
            most.push_back(change_at(each));
        else if (is_unknown(each) && (!largest_unknown || size_of(*each.now) > size_of(*largest_unknown->now)))
            largest_unknown = &each;
    }
    if (largest_unknown && size_of(*largest_unknown->now) > size_of(most.back().holder))
        most.back() = change_at(*largest_unknown);
    return most;
}

const Holder* holds_most(const std::vector<Holder>& holders) {
    const auto larger = [](const Holder* a, const Holder* b) { return !a || (b && size_of(*b) > size_of(*a)) ? b : a; };
    std::vector<const Holder*> inside(holders.size());  // the largest container inside each one
    const Holder* most = nullptr;
    for (const Holder& holder : holders) {
        most = larger(most, &holder);
        if (holder.within > 0 && holder.within <= holders.size())
            inside[holder.within - 1] = larger(inside[holder.within - 1], &holder);
    }
    // Bounded, because a torn census can have a cycle.
    for (std::size_t i = 0; most && i < holders.size(); ++i) {
        const Holder* inner = inside[static_cast<std::size_t>(most - holders.data())];
        if (!inner || inner == most || size_of(*inner) <= size_of(*most) / 2) break;
        most = inner;
    }
    return most;
}

}  // namespace

std::optional<HeldObjects> held_objects(const HeapCensus& now, const HeapCensus* earlier) {
    if (!now.objects) return std::nullopt;
    const ObjectCensus& objects = *now.objects;
    HeldObjects held{.time = now.time, .refusal = objects.refusal, .objects = objects.objects, .bytes = objects.bytes};
    if (const Holder* most = holds_most(objects.holders)) held.most = *most;
    held.tensors = objects.tensor_totals;
    if (held.tensors.size() > HeldObjects::kMostDevices) held.tensors.resize(HeldObjects::kMostDevices);
    const bool comparable = earlier && earlier->objects && objects.refusal == ObjectsRefusal::none &&
                            earlier->objects->refusal == ObjectsRefusal::none && now.time > earlier->time &&
                            has_sizes(now) && has_sizes(*earlier);
    const ObjectGrowth growth = object_growth(now, comparable ? earlier : nullptr);
    for (const HolderGrowth& each : growth.holders) {
        if (!each.is_item) {
            held.explained += positive(each.own_host);
            held.device_explained += positive(each.own_device);
        }
    }
    held.holders = most_important(growth.holders);
    if (!comparable) return held;
    held.over = Seconds{now.time - earlier->time};
    held.grown = change(now.anon + now.swap, earlier->anon + earlier->swap);
    held.device_grown = on_devices(objects) - on_devices(*earlier->objects);
    held.others = other_growth(now, *earlier, held);
    return held;
}

}  // namespace memscope
