#include "outputs/heap/objects_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "analysis/heap/held_objects.h"
#include "analysis/heap/holder_sentence.h"
#include "analysis/heap/object_growth.h"
#include "base/text.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace {

constexpr std::size_t kCount = 11;     // "+1,234,567"
constexpr std::size_t kSizeWidth = 9;  // "1023 MiB"
constexpr std::size_t kSizeChange = 10;

std::string size_change(const std::optional<std::int64_t>& bytes) {
    if (!bytes) return "?";
    if (*bytes == 0) return "0";
    const auto size = static_cast<std::uint64_t>(*bytes > 0 ? *bytes : -*bytes);
    return (*bytes > 0 ? "+" : "-") + human_size({size});
}

std::string count_change(const std::optional<std::int64_t>& count) { return count ? grouped_change(*count) : "?"; }

std::size_t numbers_width(bool changes, bool device) {
    return kCount + (changes ? kCount + kSizeChange : 0) + kSizeWidth + (device ? kSizeWidth : 0);
}

// Columns of a table whose first column is a name.
std::size_t name_width(bool changes, std::size_t columns) {
    const std::size_t numbers = numbers_width(changes, false);
    return columns > numbers + 10 ? columns - numbers : 10;
}

std::string table_head(std::string_view name, bool changes, std::size_t columns) {
    std::string line = left(name, name_width(changes, columns)) + right("COUNT", kCount);
    if (changes) line += right("CHANGE", kCount);
    line += right("SIZE", kSizeWidth);
    if (changes) line += right("CHANGE", kSizeChange);
    return line + "\n";
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
    std::string text;
    for (const std::uint64_t size : shape) text += (text.empty() ? "" : ",") + std::to_string(size);
    return "[" + text + "]";
}

std::string name_of_entry(const ObjectsOfType& type) { return printable(type.type); }
std::string name_of_entry(const TensorGroup& group) {
    return printable(group.device + " " + group.dtype) + shape_text(group.shape) +
           (group.only_native ? " held by C++" : "");
}
std::string name_of_entry(const ArrayGroup& group) { return printable(group.dtype) + shape_text(group.shape); }
std::string name_of_entry(const TensorTotal& total) { return "all tensors on " + printable(total.device); }

std::uint64_t count_of(const ObjectsOfType& type) { return type.count; }
std::uint64_t count_of(const TensorGroup& group) { return group.count; }
std::uint64_t count_of(const ArrayGroup& group) { return group.count; }
std::uint64_t count_of(const TensorTotal& total) { return total.tensors; }

template <class T>
std::string row(const Changed<T>& entry, bool changes, std::size_t columns) {
    std::string line =
        left(name_of_entry(*entry.now), name_width(changes, columns)) + right(grouped(count_of(*entry.now)), kCount);
    if (changes) line += right(count_change(entry.count_change), kCount);
    line += right(human_size(entry.now->bytes), kSizeWidth);
    if (changes) line += right(size_change(entry.bytes_change), kSizeChange);
    return line + "\n";
}

// Entries that grew come first, by their growth. The others keep their order.
template <class T>
std::vector<Changed<T>> by_change(std::vector<Changed<T>> entries) {
    std::ranges::stable_sort(entries, [](const Changed<T>& a, const Changed<T>& b) {
        const auto grown = [](const Changed<T>& each) {
            return std::max<std::int64_t>(each.bytes_change.value_or(0), 0);
        };
        return grown(a) > grown(b);
    });
    return entries;
}

template <class T>
std::string table(std::string_view name, const std::vector<Changed<T>>& entries, bool changes, std::size_t top,
                  std::size_t columns) {
    if (entries.empty()) return {};
    std::string text = "\n" + table_head(name, changes, columns);
    const auto sorted = by_change(entries);
    for (std::size_t i = 0; i < std::min(top, sorted.size()); ++i) text += row(sorted[i], changes, columns);
    if (sorted.size() > top) text += fmt::format("… {} more (--top)\n", grouped(sorted.size() - top));
    return text;
}

std::string holders_table(const ObjectGrowth& growth, bool changes, std::size_t top,
                          const std::optional<std::string>& type, std::size_t columns) {
    std::vector<const HolderGrowth*> wanted;
    for (const HolderGrowth& each : growth.holders)
        if (!type || holds_type(*each.now, *type)) wanted.push_back(&each);
    if (wanted.empty())
        return type ? fmt::format("\nno container of type {}, or with items of this type\n", printable(*type)) : "";
    const std::size_t shown = std::min(top, wanted.size());
    const bool device = std::any_of(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(shown),
                                    [](const HolderGrowth* each) { return each->now->retained_device.n > 0; });
    std::string text = "\n" + holder_head(changes, device, columns);
    for (std::size_t i = 0; i < shown; ++i) {
        const HolderGrowth& each = *wanted[i];
        std::optional<std::int64_t> bytes;
        if (each.retained_change) bytes = *each.retained_change + each.device_change.value_or(0);
        text += holder_rows(*each.now, each.length_change, bytes, changes, device, columns);
    }
    if (wanted.size() > shown) text += fmt::format("… {} more (--top)\n", grouped(wanted.size() - shown));
    return text;
}

// The owners of the live memory, and memory that has none, in a line each. What is less than 1 % of the live memory is
// left out.
std::string owners_lines(const ObjectCensus& objects, std::size_t columns) {
    if (!objects.owners) return {};
    const HeapOwners& owners = *objects.owners;
    constexpr double kLeastShare = 0.01;
    const auto is_much = [&](Bytes bytes) {
        return bytes.n > 0 && static_cast<double>(bytes.n) >= kLeastShare * static_cast<double>(owners.live.n);
    };
    std::string text = fmt::format("owners: {} of {} of live memory have a known owner", human_size(owners.attributed),
                                   human_size(owners.live));
    if (is_much(owners.probable))
        text += fmt::format(", and {} are held only by references that are not certain", human_size(owners.probable));
    constexpr double kAll = 0.995;
    if (owners.read < kAll) text += fmt::format("; {:.0f} % of it was read", 100 * owners.read);
    text = wrapped(text, columns);
    if (const auto& garbage = objects.garbage; garbage && is_much(garbage->bytes)) {
        const std::string most = garbage->types.empty() ? ""
                                                        : ", most of it in " + items_text(garbage->types.front().count,
                                                                                          garbage->types.front().type);
        text += wrapped(
            fmt::format("garbage: {} in {} objects that only refer to each other{}{}", human_size(garbage->bytes),
                        grouped(garbage->objects), most, garbage->through_native ? "; C++ closes the cycles" : ""),
            columns);
    }
    if (const auto& lost = objects.native_unreached; lost && is_much(lost->bytes))
        text +=
            wrapped(fmt::format("unreached: {}{} in {} blocks of malloc to which nothing refers",
                                owners.read < 0.98 ? "at most " : "", human_size(lost->bytes), grouped(lost->blocks)),
                    columns);
    for (const UnexplainedReferences& each : objects.unexplained)
        if (is_much(each.bytes))
            text += wrapped(
                fmt::format("unexplained: {} with {} references that were not found hold {}",
                            items_text(each.objects, each.type), grouped(each.references), human_size(each.bytes)),
                columns);
    return text;
}

}  // namespace

std::string holder_head(bool changes, bool device, std::size_t columns) {
    const std::size_t numbers = numbers_width(changes, device);
    std::string line = left("HOLDER", columns > numbers + 10 ? columns - numbers : 10) + right("LENGTH", kCount);
    if (changes) line += right("CHANGE", kCount);
    line += right("HOST", kSizeWidth);
    if (device) line += right("GPU", kSizeWidth);
    if (changes) line += right("CHANGE", kSizeChange);
    return line + "\n";
}

std::string holder_rows(const Holder& holder, const std::optional<std::int64_t>& length_change,
                        const std::optional<std::int64_t>& bytes_change, bool changes, bool device,
                        std::size_t columns) {
    const std::size_t numbers = numbers_width(changes, device);
    std::string line = left("  " + kind_text(holder), columns > numbers + 10 ? columns - numbers : 10) +
                       right(grouped(holder.length), kCount);
    if (changes) line += right(count_change(length_change), kCount);
    line += right(human_size(holder.retained), kSizeWidth);
    if (device) line += right(holder.retained_device.n > 0 ? human_size(holder.retained_device) : "-", kSizeWidth);
    if (changes) line += right(size_change(bytes_change), kSizeChange);
    return shortened_to(printable(holder.path), columns) + "\n" + line + "\n";
}

std::string objects_sentence(const ProcessHeap& process) {
    const auto held = held_objects(process.census, process.earlier ? &*process.earlier : nullptr);
    if (!held) return {};
    if (held->refusal != ObjectsRefusal::none) return refusal_sentence(held->refusal);
    if (std::string grown = holders_sentence(*held); !grown.empty()) return grown;
    return largest_holder_sentence(*held);
}

std::string objects_text(const ProcessHeap& process, std::size_t top, const std::optional<std::string>& type,
                         std::size_t columns) {
    const HeapCensus& census = process.census;
    if (!census.objects || census.objects->refusal != ObjectsRefusal::none) return {};
    const ObjectCensus& objects = *census.objects;
    const bool changes =
        process.earlier && process.earlier->objects && process.earlier->objects->refusal == ObjectsRefusal::none;
    const ObjectGrowth growth = object_growth(census, process.earlier ? &*process.earlier : nullptr);
    std::string text = holders_table(growth, changes, top, type, columns);
    if (!type) {
        if (!growth.tensors.empty()) {
            text += table("TENSORS", growth.tensors, changes, top, columns);
            for (const Changed<TensorTotal>& total : growth.tensor_totals) text += row(total, changes, columns);
        }
        text += table("ARRAYS", growth.arrays, changes, top, columns);
        text += table("TYPES", growth.types, changes, top, columns);
    } else {
        std::vector<Changed<ObjectsOfType>> types;
        for (const Changed<ObjectsOfType>& each : growth.types)
            if (is_type(each.now->type, *type)) types.push_back(each);
        text += table("TYPES", types, changes, top, columns);
    }
    if (!type)
        if (const std::string owners = owners_lines(objects, columns); !owners.empty()) text += "\n" + owners;
    if (objects.tensors_refused)
        text += shortened_to("tensors were not read: " + printable(*objects.tensors_refused), columns) + "\n";
    if (objects.inherited && objects.inherited->n > 0)
        text += wrapped(fmt::format("A forked process: objects in the {} that it still shares with its parent are not "
                                    "counted.",
                                    human_size(*objects.inherited)),
                        columns);
    if (objects.sampled < 1)
        text +=
            wrapped(fmt::format("The references of {:.0f} % of the objects were followed. The others did not fit into "
                                "memory: holders and what they retain may be incomplete.",
                                100 * objects.sampled),
                    columns);
    return text;
}

}  // namespace memscope
