#include "analysis/heap/holder_sentence.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <utility>
#include <vector>

#include "analysis/heap/free_growth.h"
#include "analysis/heap/object_growth.h"
#include "base/text.h"
#include "base/units.h"

namespace memscope {
namespace {

constexpr double kMaterialShare = 0.1;  // share of the growth or of the size; what has less is not named
constexpr double kLostShare = 0.01;     // of the live memory; libraries lose some blocks for good when they start
constexpr double kEnoughRead = 0.98;    // share of the heap
constexpr std::int64_t kLeastGrowth = 1 << 20;  // bytes; a share of less growth is not shown, because it can be chance
constexpr std::size_t kMostNamed = 3;
constexpr double kHalf = 0.5;

// Nouns for the items of common types. Items of other types are called "NAME object" or "NAME objects".
struct Plural {
    std::string_view type;
    std::string_view one;
    std::string_view many;
};
constexpr Plural kPlurals[] = {{"Tensor", "tensor", "tensors"},
                               {"ndarray", "array", "arrays"},
                               {"str", "string", "strings"},
                               {"tuple", "tuple", "tuples"},
                               {"list", "list", "lists"},
                               {"dict", "dict", "dicts"},
                               {"set", "set", "sets"},
                               {"int", "int", "ints"},
                               {"float", "float", "floats"},
                               {"function", "function", "functions"},
                               {"module", "module", "modules"},
                               {"deque", "deque", "deques"},
                               {"bytes", "byte string", "byte strings"},
                               {"Parameter", "parameter", "parameters"}};

// Growth of a container in one kind of memory.
std::int64_t own(const HolderChange& change, HolderMemory memory) {
    return memory == HolderMemory::host ? change.own_host : change.own_device;
}

Bytes bytes_of(std::int64_t bytes) { return {bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0}; }

// "11,200 tuples and 812 MiB"
std::string grown_text(const HolderChange& change, HolderMemory memory) {
    std::string size = (change.holder.reading == HolderReading::estimated ? "about " : "") +
                       human_size(bytes_of(own(change, memory))) +
                       (memory == HolderMemory::device ? " of GPU memory" : "");
    const bool exact =
        memory == HolderMemory::host ? change.retained_change.has_value() : change.device_change.has_value();
    if (!exact) return "at least " + size;
    if (change.holder.kind != HolderKind::container || change.length_change.value_or(0) <= 0) return size;
    return items_text(static_cast<std::uint64_t>(*change.length_change), change.holder.element) + " and " + size;
}

// "list", "tensor with its autograd graph"
std::string type_text(const Holder& holder, bool has_graph = false) {
    if (holder.kind == HolderKind::tensor) return has_graph ? "tensor with its autograd graph" : "tensor";
    if (holder.kind == HolderKind::native) return printable(holder.type) + " with memory of native code";
    return printable(holder.type);
}

// A tensor that grows by many other tensors keeps the graph that has computed it.
bool has_graph(const HeldObjects& held) {
    constexpr std::int64_t kManyTensors = 5;
    return std::ranges::any_of(held.causes.grown, [](const GrownKind& kind) {
        return kind.element.starts_with("torch.Tensor") && kind.count_change >= kManyTensors;
    });
}

std::string name_text(const Holder& holder, const HeldObjects& held) {
    return fmt::format("`{}` ({})", printable(holder.path), type_text(holder, has_graph(held)));
}

// " Most of its items are small views, and each keeps a storage of 2.0 MiB." Empty if they are not.
std::string storage_text(const Holder& holder) {
    if (holder.item_storage.n == 0) return {};
    return fmt::format(" Most of its items are small views, and each keeps a storage of {}.",
                       human_size(holder.item_storage));
}

bool is_freed_memory(const OtherGrowth& other) { return other.what.starts_with("freed memory"); }

std::string others_text(const HeldObjects& held, bool without_freed) {
    std::string text;
    std::size_t named = 0;
    for (const OtherGrowth& other : held.others) {
        if (named == kMostNamed) break;
        if (without_freed && is_freed_memory(other)) continue;
        ++named;
        text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", human_size(other.bytes), printable(other.what));
    }
    return text;
}

// "92 % of the growth", "92 % of the growth of tensors on GPUs".
std::string share_text(double share, HolderMemory memory) {
    return fmt::format("{:.0f} % of the growth{}", 100 * std::min(share, 1.0),
                       memory == HolderMemory::device ? " of tensors on GPUs" : "");
}

std::string alike_text(const HeldObjects& held) {
    if (held.alike == 0) return {};
    return fmt::format(" {} other process{} of this role {} about the same size.", held.alike,
                       held.alike == 1 ? "" : "es", held.alike == 1 ? "has" : "have");
}

double share_of(std::int64_t part, std::int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(whole, 1));
}

std::int64_t grown_in(const HeldObjects& held, HolderMemory memory) {
    return memory == HolderMemory::host ? held.grown : held.device_grown;
}

// True for a part of the growth that is worth a name.
bool is_material(std::int64_t part, std::int64_t grown) {
    return static_cast<double>(part) >= kMaterialShare * static_cast<double>(std::max(grown, kLeastGrowth));
}

// The holders that grew enough to be named, most first.
std::vector<const HolderChange*> named_holders(const HeldObjects& held, HolderMemory memory) {
    const std::int64_t grown = grown_in(held, memory);
    std::vector<const HolderChange*> named;
    if (!held.over) return named;
    for (const HolderChange& each : held.holders)
        if (is_material(own(each, memory), grown)) named.push_back(&each);
    std::ranges::stable_sort(
        named, [&](const HolderChange* a, const HolderChange* b) { return own(*a, memory) > own(*b, memory); });
    return named;
}

// Growth that is not in a single holder.
struct NamedCause {
    std::int64_t grown = 0;
    std::string text{};
    bool is_freed = false;  // memory that an allocator keeps
};

// ", 152 MiB more than 12 s ago; 78 % of the growth."
std::string since_text(const HeldObjects& held, std::int64_t by, HolderMemory memory) {
    std::string text =
        fmt::format(", {} more than {} ago", human_size(bytes_of(by)), human_duration(held.over.value_or(Seconds{})));
    const std::int64_t grown = grown_in(held, memory);
    if (grown >= kLeastGrowth) text += "; " + share_text(share_of(by, grown), memory);
    return text + ".";
}

std::string garbage_text(const HeldObjects& held, std::int64_t by, HolderMemory memory) {
    const Garbage& garbage = *held.causes.garbage;
    const bool device = memory == HolderMemory::device;
    const std::string size =
        human_size(device ? garbage.device_bytes : garbage.bytes) + (device ? " of GPU memory" : "");
    const std::string most = garbage.types.empty()
                                 ? items_text(garbage.objects, "")
                                 : items_text(garbage.types.front().count, garbage.types.front().type);
    if (garbage.through_native) {
        const bool torch = std::ranges::any_of(
            garbage.types, [](const ObjectsOfType& type) { return type.type.starts_with("torch."); });
        return fmt::format("C++ closes a cycle{}, so Python's collector cannot free it: {} ({}){}",
                           torch ? " (parameter, gradient, autograd graph)" : "", size, most,
                           since_text(held, by, memory));
    }
    return fmt::format(
        "{} of objects only refer to each other and wait for Python's garbage collector ({}){} The collector is off "
        "(gc), or cannot keep up.",
        size, most, since_text(held, by, memory));
}

std::string lost_text(const HeldObjects& held, std::int64_t by) {
    const NativeUnreached& lost = *held.causes.native_unreached;
    std::string blocks = fmt::format("{} blocks", grouped(lost.blocks));
    if (!lost.groups.empty()) {
        const NativeGroup& first = lost.groups.front();
        if (static_cast<double>(first.bytes.n) >= kHalf * static_cast<double>(lost.bytes.n))
            blocks = fmt::format("{} blocks of {} bytes{}", grouped(first.blocks), grouped(first.size.n),
                                 first.type.empty() ? "" : " (" + printable(first.type) + ")");
    }
    const bool certain = !held.causes.owners || held.causes.owners->read >= kEnoughRead;
    return fmt::format("{}{} were lost by native code: nothing refers to {}{}", certain ? "" : "At most ",
                       human_size(lost.bytes), blocks, since_text(held, by, HolderMemory::host));
}

std::string unexplained_text(const HeldObjects& held, const UnexplainedChange& row, std::int64_t by) {
    return fmt::format(
        "A native library keeps references to {} (no object refers to them, so a DECREF may be missing): they hold "
        "{}{}",
        items_text(row.now.objects, row.now.type), human_size(row.now.bytes), since_text(held, by, HolderMemory::host));
}

// Threads that hold the memory: as many more objects of one kind as more threads.
std::optional<NamedCause> thread_cause(const HeldObjects& held) {
    const HeapCauses& causes = held.causes;
    constexpr std::int64_t kLeastThreads = 5;
    if (!causes.threads || causes.threads_change.value_or(0) < kLeastThreads) return std::nullopt;
    const std::int64_t more = *causes.threads_change;
    for (const GrownKind& kind : causes.grown) {
        if (kind.on_device || kind.count_change < more / 2 || kind.count_change > 2 * more) continue;
        if (!is_material(kind.bytes_change, held.grown)) continue;
        return NamedCause{.grown = kind.bytes_change,
                          .text = fmt::format("{} threads run, {} more than {} ago, and objects of the threads with "
                                              "them: {} and {} more; {}.",
                                              grouped(*causes.threads), grouped(static_cast<std::uint64_t>(more)),
                                              human_duration(*held.over),
                                              items_text(static_cast<std::uint64_t>(kind.count_change), kind.element),
                                              human_size(bytes_of(kind.bytes_change)),
                                              share_text(share_of(kind.bytes_change, held.grown), HolderMemory::host))};
    }
    return std::nullopt;
}

// The causes that explain enough of the growth to be named, most first.
std::vector<NamedCause> named_causes(const HeldObjects& held, HolderMemory memory) {
    std::vector<NamedCause> named;
    if (!held.over) return named;
    const HeapCauses& causes = held.causes;
    const bool host = memory == HolderMemory::host;
    const std::int64_t grown = grown_in(held, memory);
    const std::int64_t garbage = (host ? causes.garbage_change : causes.garbage_device_change).value_or(0);
    if (causes.garbage && is_material(garbage, grown))
        named.push_back({.grown = garbage, .text = garbage_text(held, garbage, memory)});
    if (host) {
        const Bytes live = causes.owners ? causes.owners->live : held.size;
        const std::int64_t lost = causes.native_change.value_or(0);
        if (causes.native_unreached && is_material(lost, grown) &&
            static_cast<double>(causes.native_unreached->bytes.n) >= kLostShare * static_cast<double>(live.n))
            named.push_back({.grown = lost, .text = lost_text(held, lost)});
        for (const UnexplainedChange& row : causes.unexplained) {
            const std::int64_t by = row.bytes_change.value_or(0);
            if (row.objects_change.value_or(0) > 0 && is_material(by, grown)) {
                named.push_back({.grown = by, .text = unexplained_text(held, row, by)});
                break;  // the largest
            }
        }
        if (auto threads = thread_cause(held)) named.push_back(std::move(*threads));
        for (const OtherGrowth& other : held.others) {
            const auto by = static_cast<std::int64_t>(other.bytes.n);
            if (is_freed_memory(other) && share_of(by, grown) >= kHalf)
                named.push_back(
                    {.grown = by,
                     .text = fmt::format("{} of {} explain {} in {}.", human_size(other.bytes), printable(other.what),
                                         share_text(share_of(by, grown), memory), human_duration(*held.over)),
                     .is_freed = true});
        }
    }
    std::ranges::stable_sort(named, std::greater{}, &NamedCause::grown);
    return named;
}

// " More than before: 308 tensors (cpu float32[384,384]) (173 MiB)." Without the items of holders that are named. Empty
// if nothing grew enough.
std::string kinds_text(const HeldObjects& held, HolderMemory memory) {
    std::string text;
    std::string earlier;
    std::size_t named = 0;
    for (const GrownKind& kind : held.causes.grown) {
        if (named == 2) break;
        const bool is_told = std::ranges::any_of(held.holders, [&](const HolderChange& each) {
            return each.holder.element == kind.element && is_material(own(each, memory), grown_in(held, memory));
        });
        if (is_told || kind.on_device != (memory == HolderMemory::device) ||
            !is_material(kind.bytes_change, grown_in(held, memory)))
            continue;
        ++named;
        text += fmt::format("{}{} ({}{})", text.empty() ? "" : " and ",
                            items_text(static_cast<std::uint64_t>(kind.count_change), kind.element),
                            human_size(bytes_of(kind.bytes_change)), kind.only_native ? ", held by C++" : "");
        if (earlier.empty() && !kind.held_by.empty())
            earlier = fmt::format(
                " The earlier census found most of them in `{}`, which changed while this census was taken.",
                printable(kind.held_by));
    }
    return text.empty() ? "" : fmt::format(" More than before: {}.{}", text, earlier);
}

// Names a large holder if it is not known whether it grew. Empty if there is none. A container that has more items but
// holds less may have grown, too, because a running process changes while it is read.
std::string unknown_text(const HeldObjects& held, std::int64_t grown) {
    const HolderChange* unknown = nullptr;
    for (const HolderChange& each : held.holders) {
        if (!is_material(static_cast<std::int64_t>(each.holder.retained.n), grown)) continue;
        const bool seems_less = each.holder.kind == HolderKind::container && each.length_change.value_or(0) > 0 &&
                                each.retained_change.value_or(0) < 0;
        if (!is_unknown(each) && !seems_less) continue;
        // A holder inside a larger one is the better name if it has most of it.
        const auto has_most_of = [](const Holder& inner, const Holder& outer) {
            return inner.path.size() > outer.path.size() && inner.path.starts_with(outer.path) &&
                   inner.retained.n > outer.retained.n / 2;
        };
        if (!unknown || has_most_of(each.holder, unknown->holder) ||
            (each.holder.retained > unknown->holder.retained && !has_most_of(unknown->holder, each.holder)))
            unknown = &each;
    }
    if (!unknown ||
        !is_material(static_cast<std::int64_t>(unknown->holder.retained.n), static_cast<std::int64_t>(held.size.n)))
        return {};
    if (unknown->holder.reading == HolderReading::missed)
        return fmt::format(
            "{} held {}. Whether it has grown is not known, because the process changed it while it was read.",
            name_text(unknown->holder, held), human_size(unknown->holder.retained));
    if (is_unknown(*unknown))
        return fmt::format(
            "{} holds {}. Whether it has grown is not known, because the earlier census does not have it.",
            name_text(unknown->holder, held), human_size(unknown->holder.retained));
    return fmt::format(
        "{} has {} more, and how much of the growth they hold is not known: the process changed while it was read, or "
        "other holders have some of them, too.",
        name_text(unknown->holder, held),
        items_text(static_cast<std::uint64_t>(*unknown->length_change), unknown->holder.element));
}

bool is_usable(const ProcessHeap& heap, double now) {
    return heap.held && heap.held->over && Seconds{now - heap.held->time} <= kFreshCensus;
}

// Growth that its holders and causes explain.
Bytes explained(const ProcessHeap& heap, HolderMemory memory) {
    const HeldObjects& held = *heap.held;
    Bytes sum = memory == HolderMemory::host ? held.explained : held.device_explained;
    for (const NamedCause& cause : named_causes(held, memory)) sum += bytes_of(cause.grown);
    return sum;
}

// True if the process of this census is a DataLoader worker like the grower, so that its census describes both.
bool stands_for(const TargetSnapshot& target, const ProcessHeap& heap, const Grower& grower) {
    if (heap.role.role != Role::dataloader_worker) return false;
    const auto size_of = [&](pid_t pid) -> std::optional<Bytes> {
        const auto found =
            std::ranges::find_if(target.processes, [&](const Process& each) { return each.task.id.pid == pid; });
        return found == target.processes.end() ? std::nullopt : std::optional(found->own_anon());
    };
    const auto own = size_of(heap.census.process.pid), other = size_of(grower.pid);
    return own && other && are_alike(heap.role, *own, grower.role, *other);
}

}  // namespace

bool names_holder(const HeldObjects& held, HolderMemory memory) {
    return !named_holders(held, memory).empty() || !named_causes(held, memory).empty();
}

bool has_grown_holder(const HeldObjects& held) { return !named_holders(held, HolderMemory::host).empty(); }

std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t i = 3; i < text.size(); i += 4) text.insert(text.size() - i, ",");
    return text;
}

std::string grouped_change(std::int64_t number) {
    if (number == 0) return "0";
    return (number > 0 ? "+" : "-") +
           grouped(number > 0 ? static_cast<std::uint64_t>(number) : -static_cast<std::uint64_t>(number));
}

std::string items_text(std::uint64_t count, const std::string& element) {
    const std::string text = printable(element);
    const auto space = text.find(' ');
    std::string name = text.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : text.substr(space + 1);
    if (const auto dot = name.rfind('.'); dot != std::string::npos) name.erase(0, dot + 1);
    std::string noun = count == 1 ? "item" : "items";
    const auto known = std::ranges::find(kPlurals, std::string_view(name), &Plural::type);
    if (known != std::end(kPlurals))
        noun = count == 1 ? known->one : known->many;
    else if (!name.empty())
        noun = name + (count == 1 ? " object" : " objects");
    return fmt::format("{} {}{}", grouped(count), noun, rest.empty() ? "" : " (" + rest + ")");
}

std::string kind_text(const Holder& holder) {
    return printable(holder.element.empty() ? holder.type : holder.type + " of " + holder.element);
}

std::string holder_sentence(const HeldObjects& held, HolderMemory memory) {
    if (!held.over) return {};
    const bool host = memory == HolderMemory::host;
    const std::int64_t grown = grown_in(held, memory);
    const Bytes explained = host ? held.explained : held.device_explained;
    const std::string over = human_duration(*held.over);
    const bool has_share = grown >= kLeastGrowth;
    const auto share = [&](std::int64_t part) { return share_of(part, grown); };

    const std::vector<const HolderChange*> named = named_holders(held, memory);
    std::vector<NamedCause> causes = named_causes(held, memory);
    if (causes.size() > kMostNamed) causes.resize(kMostNamed);
    const bool says_freed = std::ranges::any_of(causes, &NamedCause::is_freed);
    if (named.empty() && causes.empty()) {
        if (!has_share) return {};
        const std::string unknown = host ? unknown_text(held, grown) : "";
        if (!unknown.empty()) return unknown + kinds_text(held, memory) + alike_text(held);
        const std::string kinds = kinds_text(held, memory);
        if (!host && kinds.empty()) return {};
        const std::string others = host ? others_text(held, false) : "";
        return fmt::format("No known holder explains the growth of {}{} in {}{}.{}{}", human_size(bytes_of(grown)),
                           host ? "" : " of GPU memory", over, others.empty() ? "" : ": " + others, kinds,
                           alike_text(held));
    }
    const bool cause_first = !causes.empty() && (named.empty() || causes.front().grown > own(*named.front(), memory));
    std::string text;
    std::int64_t told = 0;  // bytes that the sentences so far explain
    const auto add = [&](const std::string& sentence, std::int64_t bytes) {
        text += (text.empty() ? "" : " ") + sentence;
        told += bytes;
    };
    const auto add_causes = [&] {
        for (const NamedCause& cause : causes) add(cause.text, cause.grown);
    };
    if (cause_first) add_causes();
    for (std::size_t i = 0; i < std::min(named.size(), kMostNamed); ++i) {
        if (has_share && i > 0 && share(told) >= kHalf) break;
        const HolderChange& each = *named[i];
        const std::string by = grown_text(each, memory);
        const std::int64_t bytes = own(each, memory);
        if (!text.empty())
            add(has_share ? fmt::format("{} has grown by {} ({:.0f} %).", name_text(each.holder, held), by,
                                        100 * std::min(share(bytes), 1.0))
                          : fmt::format("{} has grown by {}.", name_text(each.holder, held), by),
                bytes);
        else
            add(fmt::format("{} has grown by {} in {}{}.{}", name_text(each.holder, held), by, over,
                            has_share ? "; " + share_text(share(bytes), memory) : "", storage_text(each.holder)),
                bytes);
        if (!has_share) break;
    }
    if (!cause_first && (!has_share || share(told) < kHalf)) add_causes();
    if (!has_share) return text + alike_text(held);
    std::int64_t all = static_cast<std::int64_t>(std::min<std::uint64_t>(explained.n, INT64_MAX / 2));
    for (const NamedCause& cause : causes) all += cause.grown;
    if (share(all) < kHalf) {
        const std::string others = host ? others_text(held, says_freed) : "";
        text += fmt::format(" Together, what is known explains {:.0f} % of the growth of {}{}.{}", 100 * share(all),
                            human_size(bytes_of(grown)), others.empty() ? "" : "; also grown: " + others,
                            kinds_text(held, memory));
    }
    return text + alike_text(held);
}

std::string holders_sentence(const HeldObjects& held) {
    std::string host = holder_sentence(held), device = holder_sentence(held, HolderMemory::device);
    const auto told = [&](HolderMemory memory) {
        const auto named = named_holders(held, memory);
        const auto causes = named_causes(held, memory);
        const std::int64_t holder = named.empty() ? 0 : own(*named.front(), memory);
        return std::max(holder, causes.empty() ? 0 : causes.front().grown);
    };
    const std::int64_t on_host = told(HolderMemory::host), on_device = told(HolderMemory::device);
    const std::int64_t all = std::max<std::int64_t>(held.grown, 0) + std::max<std::int64_t>(held.device_grown, 0);
    // A small part of the growth is not named beside a large one, also if the holder of the large one is not known.
    const bool says_host = !host.empty() && (on_host == 0 || is_material(on_host, all));
    const bool says_device = !device.empty() && (on_device == 0 || is_material(on_device, all));
    if (!says_host) host.clear();
    if (!says_device) device.clear();
    const std::string& first = on_device > on_host ? device : host;
    std::string& second = on_device > on_host ? host : device;
    if (std::min(on_host, on_device) == 0 && !first.empty()) second.clear();
    return first + (first.empty() || second.empty() ? "" : " ") + second;
}

std::string largest_holder_sentence(const HeldObjects& held) {
    if (!held.most) return {};
    const Holder& most = *held.most;
    std::uint64_t all = held.size.n;
    for (const TensorTotal& total : held.tensors)
        if (total.device != "cpu" && total.device != "meta") all += total.bytes.n;
    // Censuses of earlier versions do not have the size.
    if (held.size.n > 0 && static_cast<double>(size_of(most)) < kMaterialShare * static_cast<double>(all)) return {};
    std::string sizes = human_size(most.retained);
    if (most.retained_device.n > 0)
        sizes = most.retained_device > most.retained
                    ? fmt::format("{} of GPU memory and {} of host memory", human_size(most.retained_device), sizes)
                    : fmt::format("{} of host memory and {} of GPU memory", sizes, human_size(most.retained_device));
    const std::string what = most.kind == HolderKind::container
                                 ? printable(most.type) + " with " + items_text(most.length, most.element)
                                 : type_text(most);
    return fmt::format("`{}` ({}) holds {}.{}", printable(most.path), what, sizes, storage_text(most));
}

std::string refusal_sentence(ObjectsRefusal refusal) {
    switch (refusal) {
        case ObjectsRefusal::none:
            return {};
        case ObjectsRefusal::version:
            return "The Python objects were not read: this version of CPython is not known (3.10 to 3.15 are).";
        case ObjectsRefusal::debug_build:
            return "The Python objects were not read: this is a debug build of Python, which has other layouts.";
        case ObjectsRefusal::free_threaded:
            return "The Python objects were not read: this is a free-threaded build of Python, which has other layouts "
                   "and allocates with mimalloc. What holds the memory is not known.";
        case ObjectsRefusal::not_found:
            return "The Python objects were not read: the state of the interpreter was not found. It starts or exits, "
                   "or its pages are not in memory.";
    }
    return {};
}

const ProcessHeap* heap_that_grows(const TargetSnapshot& target, const std::optional<RoleKey>& role,
                                   const std::optional<Grower>& grower, double now, HolderMemory memory) {
    const ProcessHeap* most = nullptr;
    for (const ProcessHeap& heap : target.heap) {
        if (!is_usable(heap, now) || (role && heap.role != *role)) continue;
        if (grower && heap.census.process.pid == grower->pid) return &heap;
        if (grower && !stands_for(target, heap, *grower)) continue;
        if (!most || explained(heap, memory) > explained(*most, memory)) most = &heap;
    }
    return most;
}

const ProcessHeap* heap_that_grows(const TargetSnapshot& target, double now) {
    const ScopeVerdict* verdict = target.verdict();
    return heap_that_grows(target, std::nullopt, verdict ? verdict->grower : std::nullopt, now);
}

std::string holder_sentence(const ProcessHeap* heap, HolderMemory memory) {
    return heap && heap->held ? holder_sentence(*heap->held, memory) : std::string();
}

std::string holders_sentence(const ProcessHeap* heap) {
    return heap && heap->held ? holders_sentence(*heap->held) : std::string();
}

}  // namespace memscope
