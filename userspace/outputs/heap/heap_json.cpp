#include "outputs/heap/heap_json.h"

#include <algorithm>

#include "outputs/heap/objects_json.h"

namespace memscope {
namespace {

void write_parts(JsonWriter& json, const ProcessHeap& process) {
    for (std::size_t i = 0; i < kHeapParts; ++i) {
        const auto part = static_cast<HeapPart>(i);
        const auto bytes = static_cast<std::int64_t>(process.census.part(part).n);
        json.object([&] {
            json.field("part", name_of(part));
            json.field("bytes", bytes);
            json.field("change_bytes",
                       process.earlier ? std::optional(bytes - static_cast<std::int64_t>(process.earlier->part(part).n))
                                       : std::nullopt);
        });
    }
}

void write_process(JsonWriter& json, const ProcessHeap& process, std::size_t top) {
    const HeapCensus& census = process.census;
    json.field("pid", census.process.pid);
    json.field("role", name_of(process.role.role));
    json.field("rank", process.role.rank);
    json.field("taken_seconds", census.taken);
    json.field("python", census.python);
    json.field("anon_bytes", census.anon);
    json.field("swap_bytes", census.swap);
    json.list("parts", [&] { write_parts(json, process); });
    json.object("allocator", [&] {
        json.field("name", name_of(census.allocator.name));
        json.field("version", census.allocator.version);
        json.field("arenas", census.allocator.arenas);
        json.field("trimmable_bytes", census.allocator.trimmable);
    });
    json.list("mappings", [&] {
        for (std::size_t i = 0; i < std::min(top, census.mappings.size()); ++i)
            json.object([&] {
                json.field("start", census.mappings[i].start);
                json.field("end", census.mappings[i].end);
                json.field("resident_bytes", census.mappings[i].resident);
                const std::string& place = census.mappings[i].mapped_at;
                json.field("mapped_at", place.empty() ? std::nullopt : std::optional(place));
            });
    });
    json.object("incomplete", [&] {
        for (const auto& [gap, times] : census.incomplete) json.field(name_of(gap), times);
    });
}

}  // namespace

void write_heap(JsonWriter& json, std::string_view key, const std::vector<ProcessHeap>& processes, std::size_t top) {
    json.list(key, [&] {
        for (const ProcessHeap& process : processes)
            json.object([&] {
                write_process(json, process, top);
                write_held(json, "objects", process.held);
            });
    });
}

std::optional<double> since_seconds(const HeapReport& report) {
    for (const ProcessHeap& process : report.processes)
        if (process.earlier) return process.census.time - process.earlier->time;
    return std::nullopt;
}

std::string heap_json(const HeapReport& report) {
    JsonWriter json;
    json.object([&] {
        json.field("time", report.time);
        json.field("target", report.target);
        json.field("since_seconds", since_seconds(report));
        json.list("processes", [&] {
            for (const ProcessHeap& process : report.processes)
                json.object([&] {
                    write_process(json, process, report.top);
                    write_objects(json, process, report.top, report.type);
                });
        });
        json.field("processes_left_out", report.left_out);
    });
    return json.text() + "\n";
}

}  // namespace memscope
