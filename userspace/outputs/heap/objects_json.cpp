#include "outputs/heap/objects_json.h"

#include <algorithm>
#include <vector>

#include "analysis/heap/holder_sentence.h"
#include "analysis/heap/object_growth.h"

namespace memscope {
namespace {

std::optional<std::string> or_null(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

void write_shape(JsonWriter& json, const std::vector<std::uint64_t>& shape) {
    json.list("shape", [&] {
        for (const std::uint64_t size : shape) json.value(size);
    });
}

void write_name(JsonWriter& json, const ObjectsOfType& type) {
    json.field("type", type.type);
    json.field("count", type.count);
}
void write_name(JsonWriter& json, const TensorGroup& group) {
    json.field("device", group.device);
    json.field("dtype", group.dtype);
    write_shape(json, group.shape);
    json.field("only_native", group.only_native);
    json.field("count", group.count);
}
void write_name(JsonWriter& json, const TensorTotal& total) {
    json.field("device", total.device);
    json.field("count", total.tensors);
    json.field("storages", total.storages);
}
void write_name(JsonWriter& json, const ArrayGroup& group) {
    json.field("dtype", group.dtype);
    write_shape(json, group.shape);
    json.field("count", group.count);
}

// Writes the first `top` entries for which wanted() is true.
template <class T, class Wanted>
void write_list(JsonWriter& json, std::string_view key, const std::vector<Changed<T>>& entries, std::size_t top,
                Wanted wanted) {
    json.list(key, [&] {
        std::size_t written = 0;
        for (const Changed<T>& entry : entries) {
            if (written == top) break;
            if (!wanted(*entry.now)) continue;
            ++written;
            json.object([&] {
                write_name(json, *entry.now);
                json.field("bytes", entry.now->bytes);
                json.field("count_change", entry.count_change);
                json.field("bytes_change", entry.bytes_change);
            });
        }
    });
}

void write_holder(JsonWriter& json, const Holder& holder, const auto& change) {
    json.field("path", holder.path);
    json.field("root", name_of(holder.root));
    json.field("type", holder.type);
    json.field("element", or_null(holder.element));
    json.field("length", holder.length);
    json.field("retained_bytes", holder.retained);
    json.field("retained_device_bytes", holder.retained_device);
    json.field("length_change", change.length_change);
    json.field("retained_change", change.retained_change);
    json.field("retained_device_change", change.device_change);
    json.field("other_holders", holder.other_holders);
}

}  // namespace

void write_objects(JsonWriter& json, const ProcessHeap& process, std::size_t top,
                   const std::optional<std::string>& type) {
    const ObjectCensus* objects = process.census.objects.get();
    const bool read = objects && objects->refusal == ObjectsRefusal::none;
    json.field("objects", read ? std::optional(objects->objects) : std::nullopt);
    json.field("object_bytes", read ? std::optional(objects->bytes) : std::nullopt);
    json.field("refused", objects && !read ? std::optional(name_of(objects->refusal)) : std::nullopt);
    json.field("tensors_refused", read ? objects->tensors_refused : std::nullopt);
    json.field("references_explained", read ? std::optional(objects->references_explained) : std::nullopt);
    json.field("inherited_bytes", read && objects->inherited ? std::optional(objects->inherited->n) : std::nullopt);
    json.field("sampled", read ? std::optional(objects->sampled) : std::nullopt);
    const ObjectGrowth growth = object_growth(process.census, process.earlier ? &*process.earlier : nullptr);
    const auto any = [](const auto&) { return true; };
    write_list(json, "types", growth.types, top,
               [&](const ObjectsOfType& each) { return !type || is_type(each.type, *type); });
    write_list(json, "tensors", growth.tensors, top, any);
    write_list(json, "tensor_totals", growth.tensor_totals, growth.tensor_totals.size(), any);
    write_list(json, "arrays", growth.arrays, top, any);
    json.list("holders", [&] {
        std::size_t written = 0;
        for (const HolderGrowth& each : growth.holders) {
            if (written == top) break;
            if (type && !holds_type(*each.now, *type)) continue;
            ++written;
            json.object([&] { write_holder(json, *each.now, each); });
        }
    });
}

void write_held(JsonWriter& json, std::string_view key, const std::optional<HeldObjects>& held) {
    if (!held) return json.field(key, nullptr);
    json.object(key, [&] {
        json.field("time", held->time);
        json.field("since_seconds", held->over);
        json.field("refused",
                   held->refusal == ObjectsRefusal::none ? std::nullopt : std::optional(name_of(held->refusal)));
        json.field("sentence", or_null(holder_sentence(*held)));
        json.field("gpu_sentence", or_null(holder_sentence(*held, HolderMemory::device)));
        json.field("objects", held->objects);
        json.field("object_bytes", held->bytes);
        json.field("grown_bytes", held->over ? std::optional(held->grown) : std::nullopt);
        json.field("explained_bytes", held->over ? std::optional(held->explained) : std::nullopt);
        json.list("tensor_totals", [&] {
            for (const TensorTotal& total : held->tensors)
                json.object([&] {
                    write_name(json, total);
                    json.field("bytes", total.bytes);
                });
        });
        json.list("holders", [&] {
            for (const HolderChange& each : held->holders)
                json.object([&] {
                    write_holder(json, each.holder, each);
                    json.field("items_per_second", each.items_per_second);
                    json.field("first_seen_seconds", each.first_seen);
                });
        });
        json.list("others", [&] {
            for (const OtherGrowth& each : held->others)
                json.object([&] {
                    json.field("what", each.what);
                    json.field("bytes", each.bytes);
                });
        });
        json.field("alike_processes", held->alike);
    });
}

}  // namespace memscope
