#pragma once
#include <memory>
#include <string>
#include <utility>

#include "model/heap/heap.h"

// Made-up censuses of Python objects.
namespace memscope::test {

inline Holder holder(std::string path, std::string type, std::uint64_t length, std::uint64_t retained,
                     std::uint64_t within = 0, std::string element = "") {
    return {.path = std::move(path),
            .root = HolderRoot::module,
            .type = std::move(type),
            .element = std::move(element),
            .length = length,
            .retained = Bytes{retained},
            .within = within};
}

inline HeapCensus with_objects(double time, Bytes anon, ObjectCensus objects) {
    HeapCensus census{.process = {.pid = 7, .start_ns = 1}, .time = time, .anon = anon, .python = "3.11"};
    census.part(HeapPart::malloc_live) = anon;
    census.objects = std::make_shared<const ObjectCensus>(std::move(objects));
    return census;
}

// A list of tuples on an instance, in the namespace of its module.
inline ObjectCensus outputs_of(std::uint64_t length, std::uint64_t bytes_of_each) {
    ObjectCensus objects{.objects = 2 * length + 100, .bytes = Bytes{length * bytes_of_each + 4096}};
    objects.types = {{"tuple", length, Bytes{length * bytes_of_each}}, {"__main__.Trainer", 1, Bytes{48}}};
    objects.holders = {holder("__main__", "dict", 40, length * bytes_of_each + 4096),
                       holder("__main__.trainer.val_outputs", "list", length, length * bytes_of_each, 1, "tuple")};
    return objects;
}

}  // namespace memscope::test
