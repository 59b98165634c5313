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
    return "live memory without a known holder";
}

std::vector<OtherGrowth> other_growth(const HeapCensus& now, const HeapCensus& before, const HeldObjects& held) {
    std::vector<OtherGrowth> others;
    const HeapCauses& causes = held.causes;
    std::int64_t live = -static_cast<std::int64_t>(held.explained.n) -
                        std::max<std::int64_t>(causes.garbage_change.value_or(0), 0) -
                        std::max<std::int64_t>(causes.native_change.value_or(0), 0);
    for (std::size_t i = 0; i < kHeapParts; ++i) {
        const auto part = static_cast<HeapPart>(i);
        const std::int64_t by = change(now.part(part), before.part(part));
        if (part == HeapPart::malloc_live || part == HeapPart::python_live)
            live += by;
        else
            others.push_back({std::string(name_of_growth(part)), positive(by)});
    }
    // A holder whose change is not known may hold the rest of the live memory.
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

const ObjectCensus* read_objects(const HeapCensus* census) {
    return census && census->objects && census->objects->refusal == ObjectsRefusal::none ? census->objects.get()
                                                                                         : nullptr;
}

// True if an earlier census has a real part of the same memory, and not more of it. A figure that falls between two
// censuses is used up or freed all the time.
bool agrees(std::uint64_t now, std::uint64_t before) {
    constexpr std::uint64_t kParts = 100;
    return before > 0 && before <= now && before >= now / kParts;
}

// The earlier readings of one figure.
struct Readings {
    std::optional<std::uint64_t> earlier{};
    std::optional<std::uint64_t> between{};
};

// The change since the earlier census, if one of the two earlier readings agrees with this one.
std::optional<std::int64_t> confirmed_change(std::uint64_t now, const Readings& before) {
    const bool first = before.earlier && agrees(now, *before.earlier);
    const bool second = before.between && agrees(now, *before.between);
    if (!first && !second) return std::nullopt;
    return change({now}, {before.earlier ? *before.earlier : *before.between});
}

template <class T>
void keep_first(std::vector<T>& list) {
    if (list.size() > HeapCauses::kMostTypes) list.resize(HeapCauses::kMostTypes);
}

std::optional<Bytes> garbage_of(const ObjectCensus* objects, Bytes Garbage::* part) {
    return objects && objects->garbage ? std::optional(*objects->garbage.*part) : std::nullopt;
}

std::optional<std::uint64_t> count_of(const std::optional<Bytes>& bytes) {
    return bytes ? std::optional(bytes->n) : std::nullopt;
}

std::optional<UnexplainedReferences> unexplained_in(const ObjectCensus* objects, const std::string& type) {
    if (!objects || !objects->owners) return std::nullopt;
    const auto found = std::ranges::find(objects->unexplained, type, &UnexplainedReferences::type);
    return found == objects->unexplained.end() ? UnexplainedReferences{} : *found;
}

std::optional<std::uint64_t> threads_in(const ObjectCensus* objects) {
    if (!objects) return std::nullopt;
    const auto found = std::ranges::find(objects->types, "threading.Thread", &ObjectsOfType::type);
    return found == objects->types.end() ? std::nullopt : std::optional(found->count);
}

// A library can hold some objects of each type for good, for example in static variables. The types whose objects
// increased come first.
std::vector<UnexplainedChange> unexplained_changes(const ObjectCensus& now, const ObjectCensus* earlier,
                                                   const ObjectCensus* between) {
    std::vector<UnexplainedChange> all;
    for (const UnexplainedReferences& each : now.unexplained) {
        UnexplainedChange row{.now = each};
        const auto was = unexplained_in(earlier, each.type), since = unexplained_in(between, each.type);
        const auto readings = [&](auto part) {
            return Readings{.earlier = was ? std::optional(part(*was)) : std::nullopt,
                            .between = since ? std::optional(part(*since)) : std::nullopt};
        };
        row.objects_change =
            confirmed_change(each.objects, readings([](const UnexplainedReferences& one) { return one.objects; }));
        if (row.objects_change)
            row.bytes_change =
                confirmed_change(each.bytes.n, readings([](const UnexplainedReferences& one) { return one.bytes.n; }));
        all.push_back(std::move(row));
    }
    std::ranges::stable_sort(all, std::greater{},
                             [](const UnexplainedChange& row) { return row.bytes_change.value_or(0); });
    keep_first(all);
    return all;
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
    constexpr std::size_t kMostDimensions = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(shape.size(), kMostDimensions); ++i)
        text += (text.empty() ? "" : ",") + std::to_string(shape[i]);
    return "[" + text + (shape.size() > kMostDimensions ? ",…]" : "]");
}

// Tensors and arrays have a shape, so their types are left out.
std::vector<GrownKind> grown_kinds(const ObjectGrowth& growth) {
    std::vector<GrownKind> kinds;
    const auto add = [&](const auto& entry, std::uint64_t count, std::string element, bool device, bool native) {
        if (entry.bytes_change.value_or(0) <= 0 || entry.count_change.value_or(0) <= 0) return;
        kinds.push_back({.element = std::move(element),
                         .count = count,
                         .bytes = entry.now->bytes,
                         .count_change = *entry.count_change,
                         .bytes_change = *entry.bytes_change,
                         .on_device = device,
                         .only_native = native});
    };
    for (const auto& each : growth.tensors) {
        const TensorGroup& group = *each.now;
        const bool device = group.device != "cpu" && group.device != "meta";
        add(each, group.count, "torch.Tensor " + group.device + " " + group.dtype + shape_text(group.shape), device,
            group.only_native);
    }
    for (const auto& each : growth.arrays)
        add(each, each.now->count, "numpy.ndarray " + each.now->dtype + shape_text(each.now->shape), false, false);
    for (const auto& each : growth.types)
        if (!(is_type(each.now->type, "torch.Tensor") && !growth.tensors.empty()) &&
            !(is_type(each.now->type, "torch.nn.parameter.Parameter") && !growth.tensors.empty()) &&
            !is_type(each.now->type, "numpy.ndarray"))
            add(each, each.now->count, each.now->type, false, false);
    std::ranges::stable_sort(kinds, std::greater{}, &GrownKind::bytes_change);
    keep_first(kinds);
    return kinds;
}

// The census can miss a container that changes while it is read. Then the earlier census shows who had these objects.
std::string earlier_holder(const GrownKind& kind, const ObjectCensus& now, const ObjectCensus* earlier) {
    if (!earlier || kind.element.empty()) return {};
    const Holder* most = nullptr;
    for (const Holder& each : earlier->holders)
        if (each.element == kind.element && (!most || each.length > most->length)) most = &each;
    const auto before = static_cast<std::int64_t>(kind.count) - kind.count_change;
    if (!most || most->address == 0 || static_cast<std::int64_t>(most->length) < before / 2) return {};
    const bool is_read = std::ranges::any_of(now.holders, [&](const Holder& each) {
        return each.type == most->type && (each.address == most->address || each.path == most->path);
    });
    return is_read ? std::string() : most->path;
}

HeapCauses causes_of(const ObjectCensus& now, const ObjectCensus* earlier, const ObjectCensus* between,
                     const ObjectGrowth& growth) {
    HeapCauses causes{.owners = now.owners, .garbage = now.garbage, .native_unreached = now.native_unreached};
    if (causes.garbage) {
        keep_first(causes.garbage->types);
        const auto change_in = [&](Bytes Garbage::* part) {
            return confirmed_change((*now.garbage.*part).n, {.earlier = count_of(garbage_of(earlier, part)),
                                                             .between = count_of(garbage_of(between, part))});
        };
        causes.garbage_change = change_in(&Garbage::bytes);
        causes.garbage_device_change = change_in(&Garbage::device_bytes);
    }
    if (causes.native_unreached) {
        keep_first(causes.native_unreached->groups);
        const auto lost = [](const ObjectCensus* objects) {
            return objects && objects->native_unreached ? std::optional(objects->native_unreached->bytes.n)
                                                        : std::nullopt;
        };
        causes.native_change =
            confirmed_change(causes.native_unreached->bytes.n, {.earlier = lost(earlier), .between = lost(between)});
    }
    if (now.owners) causes.unexplained = unexplained_changes(now, earlier, between);
    causes.threads = threads_in(&now);
    if (causes.threads && earlier) causes.threads_change = change({*causes.threads}, {threads_in(earlier).value_or(0)});
    causes.grown = grown_kinds(growth);
    for (GrownKind& kind : causes.grown) kind.held_by = earlier_holder(kind, now, earlier);
    return causes;
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

std::optional<HeldObjects> held_objects(const HeapCensus& now, const HeapCensus* earlier, const HeapCensus* between) {
    if (!now.objects) return std::nullopt;
    const ObjectCensus& objects = *now.objects;
    HeldObjects held{.time = now.time, .refusal = objects.refusal, .objects = objects.objects, .bytes = objects.bytes};
    if (const Holder* most = holds_most(objects.holders)) held.most = *most;
    held.tensors = objects.tensor_totals;
    if (held.tensors.size() > HeldObjects::kMostDevices) held.tensors.resize(HeldObjects::kMostDevices);
    const bool comparable = earlier && earlier->objects && objects.refusal == ObjectsRefusal::none &&
                            earlier->objects->refusal == ObjectsRefusal::none && now.time > earlier->time &&
                            has_sizes(now) && has_sizes(*earlier);
    held.size = now.anon + now.swap;
    const ObjectGrowth growth = object_growth(now, comparable ? earlier : nullptr, comparable ? between : nullptr);
    if (objects.refusal == ObjectsRefusal::none)
        held.causes = causes_of(objects, comparable ? earlier->objects.get() : nullptr,
                                comparable ? read_objects(between) : nullptr, growth);
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
