#include "analysis/growth/owner.h"

#include <gmock/gmock.h>

namespace memscope {
namespace owner_test {

using Reason = Ownership::Reason;

constexpr std::int64_t kMiB = 1 << 20;
constexpr double kNow = 5000;

GrowthSite site(std::int64_t mib, const char* function, int line, const char* innermost = "mmap64") {
    return {.bytes = mib * kMiB,
            .role = {Role::trainer, {}},
            .pids = {7},
            .python = {{function, "/job/train.py", line}, {"main", "/job/train.py", 90}},
            .native = {{innermost, "/lib/libc.so.6", 0x10}}};
}

TargetSnapshot job(std::uint64_t anon_mib = 1000) {
    TargetSnapshot target;
    Process process;
    process.task.id = {7, 1};
    process.task.memory = AddressSpace{.anon = Bytes{anon_mib << 20U}};
    target.processes = {process};
    return target;
}

TargetSnapshot with_census(HeapPart part, std::uint64_t mib, AllocatorName allocator = AllocatorName::glibc) {
    TargetSnapshot target = job();
    ProcessHeap heap;
    heap.census.process = {7, 1};
    heap.census.time = kNow - 60;
    heap.census.anon = Bytes{1000 << 20U};
    heap.census.allocator.name = allocator;
    heap.census.part(HeapPart::other) = Bytes{(1000 - mib) << 20U};
    heap.census.part(part) += Bytes{mib << 20U};
    target.heap = {heap};
    return target;
}

// Growth for which backward() touched the memory first and validate() keeps it.
Growth recycled() {
    Growth growth;
    growth.resident.sites = {site(400, "backward", 50, "memset"), site(10, "validate", 60, "memset")};
    return growth;
}

// mimalloc maps memory in large pieces and hands it out again.
TEST(Owner, NoLineOfAFreeThreadedPythonIsNamed) {
    Growth growth;
    growth.resident_method = ResidentMethod::live;
    growth.resident.sites = growth.mapped.sites = {site(400, "validate", 60)};
    TargetSnapshot target = with_census(HeapPart::mapped, 390);
    ASSERT_TRUE(owner_of(growth, target, kNow).owner);
    target.heap[0].held = HeldObjects{.refusal = ObjectsRefusal::free_threaded};
    const Ownership unknown = owner_of(growth, target, kNow);
    EXPECT_FALSE(unknown.owner);
    EXPECT_EQ(unknown.reason, Reason::recycled);
    EXPECT_THAT(unknown.holders, testing::HasSubstr("free-threaded build of Python"));
    growth.tensors_host.sites = {site(380, "validate", 61, "posix_memalign")};
    EXPECT_TRUE(owner_of(growth, target, kNow).owner) << "tensors are counted when they are allocated and freed";
}

TEST(Owner, PrefersTheLineOfTheTensorsToTheFirstTouch) {
    Growth growth = recycled();
    growth.tensors_host.sites = {site(380, "validate", 60, "posix_memalign")};
    const Ownership known = owner_of(growth, job(), kNow);
    ASSERT_EQ(known.reason, Reason::known);
    EXPECT_EQ(known.owner->plane, PlaneKind::tensors_host);
    EXPECT_EQ(known.owner->place, "validate (train.py:60)");
    EXPECT_EQ(known.owner->bytes, 380 * kMiB);
    EXPECT_NEAR(known.owner->share, 380. / 410, 0.001);
    EXPECT_EQ(known.frame->line, 60);
}

TEST(Owner, IsTheLineThatMappedTheMemory) {
    Growth growth = recycled();
    growth.mapped.sites = {site(300, "validate", 60), site(90, "validate", 60, "mremap"), site(100, "step", 12)};
    const Ownership known = owner_of(growth, job(), kNow);
    ASSERT_TRUE(known.owner);
    EXPECT_EQ(known.owner->plane, PlaneKind::mapped);
    EXPECT_EQ(known.owner->place, "validate (train.py:60)");
    EXPECT_EQ(known.owner->bytes, 390 * kMiB) << "of all stacks of the line";
}

TEST(Owner, IgnoresLinesThatEnlargedTheHeap) {
    for (const char* innermost : {"brk", "__brk", "mprotect", ""}) {
        Growth growth = recycled();
        growth.mapped.sites = {site(400, "backward", 50, innermost)};
        EXPECT_FALSE(owner_of(growth, job(), kNow).owner) << innermost;
    }
}

TEST(Owner, IgnoresLinesThatMappedArenasOfPython) {
    Growth growth = recycled();
    growth.mapped.sites = {site(400, "backward", 50)};
    EXPECT_TRUE(owner_of(growth, job(), kNow).owner);
    EXPECT_FALSE(owner_of(growth, with_census(HeapPart::python_live, 390), kNow).owner);
}

TEST(Owner, OfMemoryThatALibraryMappedIsNotReducedByTheArenasOfPython) {
    Growth growth;
    growth.mapped.sites = {site(400, "fetch", 16)};
    growth.mapped.sites[0].native = {{"mmap64", "/lib/libc.so.6", 1}, {"map", "/lib/libtorch_cpu.so", 1}};
    const auto owner = owner_of(growth, with_census(HeapPart::python_live, 390), kNow).owner;
    ASSERT_TRUE(owner);
    EXPECT_EQ(owner->bytes, std::int64_t{400} << 20);
}

TEST(Owner, IgnoresLinesThatOnlyReservedMemory) {
    Growth growth = recycled();
    growth.mapped.sites = {site(4000, "reserve", 3), site(390, "validate", 60)};
    const Ownership known = owner_of(growth, job(1000), kNow);
    ASSERT_TRUE(known.owner);
    EXPECT_EQ(known.owner->place, "validate (train.py:60)");
}

TEST(Owner, IgnoresImports) {
    Growth growth;
    GrowthSite import = site(400, "<module>", 1);
    import.python.insert(import.python.begin(), {"_call_with_frames_removed", "<frozen importlib._bootstrap>", 241});
    growth.resident.sites = growth.mapped.sites = {import};
    EXPECT_EQ(owner_of(growth, job(), kNow).reason, Reason::little);
    growth.resident.sites.push_back(site(20, "validate", 60));
    growth.mapped.sites.push_back(site(20, "validate", 60));
    const Ownership known = owner_of(growth, job(), kNow);
    ASSERT_TRUE(known.owner);
    EXPECT_EQ(known.owner->place, "validate (train.py:60)");
}

TEST(Owner, IsNotKnownIfALineKeepsOnlyASmallPart) {
    Growth growth = recycled();
    growth.mapped.sites = {site(40, "validate", 60)};
    EXPECT_EQ(owner_of(growth, job(), kNow).reason, Reason::no_line);
}

TEST(Owner, OfMemoryThatMallocRecyclesIsNotKnown) {
    for (const HeapPart part : {HeapPart::malloc_live, HeapPart::malloc_free, HeapPart::python_free})
        EXPECT_EQ(owner_of(recycled(), with_census(part, 800), kNow).reason, Reason::recycled);
    EXPECT_EQ(owner_of(recycled(), with_census(HeapPart::mapped, 800, AllocatorName::jemalloc), kNow).reason,
              Reason::recycled);
}

TEST(Owner, NamesNoFirstTouchWithoutARecentCensus) {
    EXPECT_EQ(owner_of(recycled(), job(), kNow).reason, Reason::no_line);
    EXPECT_EQ(owner_of(recycled(), with_census(HeapPart::mapped, 800), kNow + 7200).reason, Reason::no_line)
        << "the census is too old";
}

TEST(Owner, OfMemoryInNoAllocatorIsTheLineThatTouchedItFirst) {
    const Ownership known = owner_of(recycled(), with_census(HeapPart::mapped, 800), kNow);
    ASSERT_TRUE(known.owner);
    EXPECT_EQ(known.owner->plane, PlaneKind::resident);
    EXPECT_EQ(known.owner->place, "backward (train.py:50)");
}

TEST(Owner, IgnoresALineWithMoreGrowthThanItsProcesses) {
    Growth growth = recycled();
    growth.resident.unattributed = {{"before", -200 * kMiB}};
    EXPECT_FALSE(owner_of(growth, with_census(HeapPart::mapped, 800), kNow).owner);
    growth.resident.unattributed.push_back({"no_address", 200 * kMiB});
    EXPECT_FALSE(owner_of(growth, with_census(HeapPart::mapped, 800), kNow).owner)
        << "another process may have gained what it freed";
}

TEST(Owner, IsUnknownIfOnlyFirstTouchesOrNothingWasMeasured) {
    Growth growth = recycled();
    growth.resident_method = ResidentMethod::first_touch;
    EXPECT_EQ(owner_of(growth, with_census(HeapPart::mapped, 800), kNow).reason, Reason::first_touch);
    EXPECT_EQ(owner_of({.resident_method = ResidentMethod::none}, job(), kNow).reason, Reason::not_measured);
}

TEST(Owner, OfSharedMemoryIsKnownWithoutResidentGrowth) {
    Growth growth;
    growth.mapped.sites = {site(100, "collate", 8)};
    TargetSnapshot target = job(5);
    target.processes[0].task.memory->shmem = Bytes{100 << 20U};
    EXPECT_TRUE(owner_of(growth, target, kNow).owner);
}

// Batches and gradients of a healthy job are alive at any time.
TEST(Owner, IsUnknownIfLessThanTwoPercentOfTheMemoryGrew) {
    Growth growth;
    growth.mapped.sites = {site(6, "train_step", 56)};
    EXPECT_EQ(owner_of(growth, job(500), kNow).reason, Reason::little);
    EXPECT_EQ(owner_of(growth, job(100), kNow).reason, Reason::known);
}

TEST(Owner, IsUnknownIfLittleGrew) { EXPECT_EQ(owner_of({}, job(), kNow).reason, Reason::little); }

}  // namespace owner_test
}  // namespace memscope
