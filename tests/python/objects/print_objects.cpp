// Prints the census of the Python objects of a process as JSON, for tests with real interpreters.
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include "sources/heap/heap_census.h"

namespace {

std::string json_text(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            (out += '\\') += c;
        else if (static_cast<unsigned char>(c) < 32)
            out += fmt::format("\\u{:04x}", static_cast<int>(c));
        else
            out += c;
    }
    return out + "\"";
}

std::string list(const std::vector<std::uint64_t>& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

}  // namespace

int main(int argc, char** argv) {
    using namespace memscope;
    if (argc < 2) return 2;
    (void)::mallopt(M_MMAP_THRESHOLD, 256 << 10);  // as in the helper process of memscope
    HeapBudget budget{.objects = true};
    if (argc > 2) budget.memory.n = std::strtoull(argv[2], nullptr, 10) << 20;
    if (argc > 3) budget.objects_time = Seconds{std::strtod(argv[3], nullptr)};
    const auto census = take_heap_census({}, std::atoi(argv[1]), budget);
    if (!census) {
        fmt::print(stderr, "{}\n", census.error().message());
        return 1;
    }
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    fmt::print("{{\"taken\": {}, \"peak\": {}, \"python\": {}", census->taken.count(), usage.ru_maxrss * 1024,
               json_text(census->python.value_or("")));
    std::string comma;
    fmt::print(", \"incomplete\": {{");
    for (const auto& [gap, times] : census->incomplete)
        fmt::print("{}{}: {}", std::exchange(comma, ", "), json_text(name_of(gap)), times);
    fmt::print("}}");
    if (census->objects) {
        const ObjectCensus& objects = *census->objects;
        fmt::print(", \"refusal\": {}, \"objects\": {}, \"bytes\": {}, \"explained\": {}, \"sampled\": {}",
                   json_text(name_of(objects.refusal)), objects.objects, objects.bytes.n, objects.references_explained,
                   objects.sampled);
        fmt::print(", \"inherited\": {}", objects.inherited ? std::to_string(objects.inherited->n) : "null");
        if (objects.tensors_refused) fmt::print(", \"tensors_refused\": {}", json_text(*objects.tensors_refused));
        const auto rows = [&](const char* name, const auto& values, auto&& row) {
            fmt::print(",\n \"{}\": [", name);
            std::string separator;
            for (const auto& value : values) fmt::print("{}\n  {{{}}}", std::exchange(separator, ","), row(value));
            fmt::print("]");
        };
        rows("types", objects.types, [](const ObjectsOfType& row) {
            return fmt::format("\"type\": {}, \"count\": {}, \"bytes\": {}", json_text(row.type), row.count,
                               row.bytes.n);
        });
        rows("tensors", objects.tensors, [](const TensorGroup& row) {
            return fmt::format(
                "\"device\": {}, \"dtype\": {}, \"shape\": {}, \"only_native\": {}, \"count\": {}, \"bytes\": {}",
                json_text(row.device), json_text(row.dtype), list(row.shape), row.only_native, row.count, row.bytes.n);
        });
        rows("tensor_totals", objects.tensor_totals, [](const TensorTotal& row) {
            return fmt::format("\"device\": {}, \"tensors\": {}, \"storages\": {}, \"bytes\": {}",
                               json_text(row.device), row.tensors, row.storages, row.bytes.n);
        });
        rows("arrays", objects.arrays, [](const ArrayGroup& row) {
            return fmt::format("\"dtype\": {}, \"shape\": {}, \"count\": {}, \"bytes\": {}", json_text(row.dtype),
                               list(row.shape), row.count, row.bytes.n);
        });
        rows("holders", objects.holders, [](const Holder& row) {
            return fmt::format(
                "\"path\": {}, \"root\": {}, \"type\": {}, \"element\": {}, \"length\": {}, \"retained\": {}, "
                "\"retained_device\": {}, \"other_holders\": {}, \"within\": {}, \"kind\": {}, \"item_storage\": {}",
                json_text(row.path), json_text(name_of(row.root)), json_text(row.type), json_text(row.element),
                row.length, row.retained.n, row.retained_device.n, row.other_holders, row.within,
                json_text(name_of(row.kind)), row.item_storage.n);
        });
    }
    fmt::print("}}\n");
    return 0;
}
