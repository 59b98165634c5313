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
    json.field("kind", name_of(holder.kind));
    json.field("type", holder.type);
    json.field("element", or_null(holder.element));
    json.field("length", holder.length);
    json.field("retained_bytes", holder.retained);
    json.field("retained_device_bytes", holder.retained_device);
    json.field("length_change", change.length_change);
    json.field("retained_change", change.retained_change);
    json.field("retained_device_change", change.device_change);
    json.field("other_holders", holder.other_holders);
    json.field("item_storage_bytes", holder.item_storage.n > 0 ? std::optional(holder.item_storage) : std::nullopt);
}

// Null if it is not known how often the container was read, or if it was read once.
struct Curve {
    std::optional<double> items_per_second{};
    std::optional<double> first_seen{};
};

void write_curve(JsonWriter& json, const Curve& curve) {
    json.field("items_per_second", curve.items_per_second);
    json.field("first_seen_seconds", curve.first_seen);
}

// What is known from the lengths that the watcher reads between censuses. Else what the two censuses show.
Curve curve_of(const HolderGrowth& growth, const ProcessHeap& process) {
    Curve curve;
    const double now = process.census.time;
    if (process.earlier && growth.length_change) {
        const double over = now - process.earlier->time;
        if (over > 0 && growth.now->kind == HolderKind::container)
            curve.items_per_second = static_cast<double>(*growth.length_change) / over;
        curve.first_seen = growth.is_new ? now : process.earlier->time;
    }
    if (!process.held || growth.now->address == 0) return curve;
    const auto& watched = process.held->holders;
    const auto known = std::ranges::find_if(watched, [&](const HolderChange& each) {
        return each.holder.address == growth.now->address && each.holder.type == growth.now->type;
    });
    if (known == watched.end()) return curve;
    if (known->items_per_second) curve.items_per_second = known->items_per_second;
    if (known->first_seen) curve.first_seen = known->first_seen;
    return curve;
}

void write_garbage(JsonWriter& json, const std::optional<Garbage>& garbage, std::size_t top) {
    if (!garbage) return json.field("garbage", nullptr);
    json.object("garbage", [&] {
        json.field("bytes", garbage->bytes);
        json.field("device_bytes", garbage->device_bytes);
        json.field("objects", garbage->objects);
        json.list("types", [&] {
            for (std::size_t i = 0; i < std::min(top, garbage->types.size()); ++i)
                json.object([&] {
                    write_name(json, garbage->types[i]);
                    json.field("bytes", garbage->types[i].bytes);
                });
        });
        json.field("through_native", garbage->through_native);
    });
}

void write_native_unreached(JsonWriter& json, const std::optional<NativeUnreached>& lost, std::size_t top) {
    if (!lost) return json.field("native_unreached", nullptr);
    json.object("native_unreached", [&] {
        json.field("bytes", lost->bytes);
        json.field("blocks", lost->blocks);
        const auto groups = [&](std::string_view key, bool typed, auto name) {
            json.list(key, [&] {
                std::size_t written = 0;
                for (const NativeGroup& group : lost->groups) {
                    if (written == top) break;
                    if (typed && group.type.empty()) continue;
                    ++written;
                    json.object([&] {
                        name(group);
                        json.field("blocks", group.blocks);
                        json.field("bytes", group.bytes);
                    });
                }
            });
        };
        groups("sizes", false, [&](const NativeGroup& group) { json.field("size", group.size); });
        groups("types", true, [&](const NativeGroup& group) { json.field("type", group.type); });
    });
}

// Which objects or code own the live memory of the process. Null where it is not known.
void write_owners(JsonWriter& json, const ObjectCensus* objects, std::size_t top) {
    static const ObjectCensus kNothing;
    const ObjectCensus& known = objects ? *objects : kNothing;
    const auto& owners = known.owners;
    json.field("live_bytes", owners ? std::optional(owners->live) : std::nullopt);
    json.field("attributed_bytes", owners ? std::optional(owners->attributed) : std::nullopt);
    json.field("probable_bytes", owners ? std::optional(owners->probable) : std::nullopt);
    json.field("read_share", owners ? std::optional(owners->read) : std::nullopt);
    write_native_unreached(json, known.native_unreached, top);
    write_garbage(json, known.garbage, top);
    if (!owners) return json.field("unexplained_references", nullptr);
    json.list("unexplained_references", [&] {
        for (std::size_t i = 0; i < std::min(top, known.unexplained.size()); ++i)
            json.object([&] {
                json.field("type", known.unexplained[i].type);
                json.field("objects", known.unexplained[i].objects);
                json.field("references", known.unexplained[i].references);
                json.field("bytes", known.unexplained[i].bytes);
            });
    });
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
    write_owners(json, read ? objects : nullptr, top);
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
            json.object([&] {
                write_holder(json, *each.now, each);
                write_curve(json, curve_of(each, process));
            });
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
                    write_curve(json, {each.items_per_second, each.first_seen});
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
