#include "heap_example.h"

#include "analysis/heap/held_objects.h"
#include "support/fake_objects.h"

namespace memscope::test {

HeapReport heap_report() {
    HeapCensus census{.process = {.pid = 4711, .start_ns = 5}, .time = 1000.5};
    census.taken = Seconds{0.25};
    census.anon = Bytes{100 * kHeapMiB};
    census.python = "3.11";
    census.part(HeapPart::malloc_live) = Bytes{60 * kHeapMiB};
    census.part(HeapPart::malloc_free) = Bytes{30 * kHeapMiB};
    census.part(HeapPart::mapped) = Bytes{10 * kHeapMiB};
    census.allocator = {
        .name = AllocatorName::glibc, .version = "2.36", .arenas = 3, .trimmable = Bytes{20 * kHeapMiB}};
    census.mappings = {{0x1000, 0x2000, Bytes{6 * kHeapMiB}}, {0x3000, 0x4000, Bytes{4 * kHeapMiB}}};
    HeapReport report{.time = census.time, .target = {}, .processes = {}, .top = 1};
    report.processes.push_back({.role = {.role = Role::trainer, .rank = 2}, .census = census, .earlier = {}});
    return report;
}

ObjectCensus leaked_objects(std::uint64_t length) {
    ObjectCensus census = outputs_of(length, kHeapMiB / 10);
    census.tensors = {{"cuda:0", "float32", {1, 128, 512}, false, length, Bytes{length * 256 * 1024}},
                      {"cpu", "float32", {50, 8}, true, 3, Bytes{4800}}};
    census.tensor_totals = {{"cuda:0", length, length, Bytes{length * 256 * 1024}}, {"cpu", 3, 3, Bytes{4800}}};
    census.arrays = {{"uint8", {64, 32}, 10, Bytes{20480}}};
    Holder on_gpu = holder("train_epoch (train.py:44) self.activations['layer2']", "list", length, 4096, 0,
                           "torch.Tensor cuda:0 float32[1,128,512]");
    on_gpu.root = HolderRoot::frame;
    on_gpu.retained_device = Bytes{length * 256 * 1024};
    on_gpu.other_holders = 2;
    census.holders.push_back(on_gpu);
    census.references_explained = 0.97;
    return census;
}

ProcessHeap leaking_process() {
    ProcessHeap process{.role = {Role::trainer, 0}};
    process.earlier = with_objects(kCensusTime - 600, Bytes{500 * kHeapMiB}, leaked_objects(1000));
    process.census = with_objects(kCensusTime - 30, Bytes{1000 * kHeapMiB}, leaked_objects(6000));
    process.earlier->process = process.census.process = {101, 101000};
    process.held = held_objects(process.census, &*process.earlier);
    return process;
}

HeapReport report_of(ProcessHeap process, std::size_t top) {
    return {.time = kCensusTime, .target = {}, .processes = {std::move(process)}, .top = top};
}

}  // namespace memscope::test
