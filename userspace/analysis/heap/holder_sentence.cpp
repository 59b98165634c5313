#include "analysis/heap/holder_sentence.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "analysis/heap/free_growth.h"
#include "analysis/heap/object_growth.h"
#include "base/text.h"
#include "base/units.h"

namespace memscope {
namespace {

constexpr double kMaterialShare = 0.01;             // share of the growth; a container with less is not named
constexpr std::int64_t kLeastContainer = 64 << 10;  // bytes
constexpr std::int64_t kLeastGrowth = 1 << 20;  // bytes; a share of less growth is not shown, because it can be chance
constexpr std::size_t kMostNamed = 3;
constexpr double kHalf = 0.5;
constexpr double kLarge = 0.1;  // share of the growth

// Nouns for the items of common types. Items of other types are called "NAME object" or "NAME objects".
struct Plural {
    std::string_view type;
    std::string_view one;
    std::string_view many;
};
constexpr Plural kPlurals[] = {{"Tensor", "tensor", "tensors"}, {"ndarray", "array", "arrays"},
                               {"str", "string", "strings"},    {"tuple", "tuple", "tuples"},
                               {"list", "list", "lists"},       {"dict", "dict", "dicts"},
                               {"set", "set", "sets"},          {"int", "int", "ints"},
                               {"float", "float", "floats"},    {"function", "function", "functions"},
                               {"module", "module", "modules"}, {"deque", "deque", "deques"}};

// Growth of a container in one kind of memory.
std::int64_t own(const HolderChange& change, HolderMemory memory) {
    return memory == HolderMemory::host ? change.own_host : change.own_device;
}

Bytes bytes_of(std::int64_t bytes) { return {bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0}; }

// "11,200 tuples and 812 MiB"
std::string grown_text(const HolderChange& change, HolderMemory memory) {
    std::string size =
        human_size(bytes_of(own(change, memory))) + (memory == HolderMemory::device ? " of GPU memory" : "");
    const bool exact =
        memory == HolderMemory::host ? change.retained_change.has_value() : change.device_change.has_value();
    if (!exact) return "at least " + size;
    if (!change.length_change || *change.length_change <= 0) return size;
    return items_text(static_cast<std::uint64_t>(*change.length_change), change.holder.element) + " and " + size;
}

std::string name_text(const Holder& holder) {
    return fmt::format("`{}` ({})", printable(holder.path), printable(holder.type));
}

std::string others_text(const HeldObjects& held) {
    std::string text;
    for (std::size_t i = 0; i < std::min(held.others.size(), kMostNamed); ++i)
        text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", human_size(held.others[i].bytes),
                            printable(held.others[i].what));
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

// The containers that grew enough to be named, most first.
std::vector<const HolderChange*> named_holders(const HeldObjects& held, HolderMemory memory) {
    const std::int64_t grown = grown_in(held, memory);
    std::vector<const HolderChange*> named;
    if (!held.over) return named;
    for (const HolderChange& each : held.holders)
        if (own(each, memory) >= kLeastContainer &&
            (grown < kLeastGrowth || share_of(own(each, memory), grown) >= kMaterialShare))
            named.push_back(&each);
    std::ranges::stable_sort(
        named, [&](const HolderChange* a, const HolderChange* b) { return own(*a, memory) > own(*b, memory); });
    return named;
}

// Names a large container if it is not known whether the container grew. Empty if there is none. A container that has
// more items but holds less may have grown, too, because a running process changes while it is read.
std::string unknown_text(const HeldObjects& held, std::int64_t grown) {
    for (const HolderChange& each : held.holders) {
        if (share_of(static_cast<std::int64_t>(each.holder.retained.n), grown) < kLarge) continue;
        if (is_unknown(each))
            return fmt::format(
                "{} holds {}, and whether it has grown is not known: the earlier census is not complete.",
                name_text(each.holder), human_size(each.holder.retained));
        if (each.length_change.value_or(0) > 0 && each.retained_change.value_or(0) < 0)
            return fmt::format(
                "{} has {} more, and how much of the growth they hold is not known: the process changed while it was "
                "read, or other containers hold some of them, too.",
                name_text(each.holder),
                items_text(static_cast<std::uint64_t>(*each.length_change), each.holder.element));
    }
    return {};
}

bool is_usable(const ProcessHeap& heap, double now) {
    return heap.held && heap.held->over && Seconds{now - heap.held->time} <= kFreshCensus;
}

Bytes explained(const ProcessHeap& heap, HolderMemory memory) {
    return memory == HolderMemory::host ? heap.held->explained : heap.held->device_explained;
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

bool names_holder(const HeldObjects& held, HolderMemory memory) { return !named_holders(held, memory).empty(); }

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
    if (named.empty()) {
        if (!has_share || !host) return {};
        if (const std::string unknown = unknown_text(held, grown); !unknown.empty()) return unknown + alike_text(held);
        const std::string others = others_text(held);
        return fmt::format("No container of Python explains the growth of {} in {}{}.{}", human_size(bytes_of(grown)),
                           over, others.empty() ? "" : ": " + others, alike_text(held));
    }
    const HolderChange& first = *named.front();
    std::string text =
        fmt::format("{} has grown by {} in {}", name_text(first.holder), grown_text(first, memory), over);
    if (!has_share) return text + "." + alike_text(held);
    const double first_share = share(own(first, memory));
    const double all = std::min(share(static_cast<std::int64_t>(explained.n)), 1.0);
    text += "; " + share_text(first_share, memory) + ".";
    if (first_share < kHalf)
        for (std::size_t i = 1; i < std::min(named.size(), kMostNamed); ++i)
            text += fmt::format(" {} has grown by {} ({:.0f} %).", name_text(named[i]->holder),
                                grown_text(*named[i], memory), 100 * std::min(share(own(*named[i], memory)), 1.0));
    if (all < kHalf) {
        text += fmt::format(" Containers of Python explain {:.0f} % of the growth of {}", 100 * all,
                            human_size(bytes_of(grown)));
        const std::string others = host ? others_text(held) : "";
        text += others.empty() ? "." : "; also grown: " + others + ".";
    }
    return text + alike_text(held);
}

std::string largest_holder_sentence(const HeldObjects& held) {
    if (!held.most) return {};
    const Holder& most = *held.most;
    std::string sizes = human_size(most.retained);
    if (most.retained_device.n > 0)
        sizes = most.retained_device > most.retained
                    ? fmt::format("{} of GPU memory and {} of host memory", human_size(most.retained_device), sizes)
                    : fmt::format("{} of host memory and {} of GPU memory", sizes, human_size(most.retained_device));
    return fmt::format("`{}` ({} with {}) holds {}.", printable(most.path), printable(most.type),
                       items_text(most.length, most.element), sizes);
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

}  // namespace memscope
