#include "analysis/gpu/gpu_join.h"

#include <gmock/gmock.h>

namespace memscope {
namespace gpu_join_test {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kNow = 1'000;

Process process(pid_t pid, Role role, std::optional<int> rank = {}, std::uint64_t start_ns = 1) {
    Process one;
    one.task.id = {pid, start_ns};
    one.role = role;
    one.rank = rank;
    return one;
}

GpuDevice device(const char* id, std::uint64_t used, std::vector<GpuHolder> holders) {
    GpuDevice gpu{.id = id};
    gpu.used = Bytes{used};
    gpu.total = Bytes{1000};
    gpu.holders = std::move(holders);
    gpu.knows_holders = true;
    return gpu;
}

TargetGpu joined(const std::vector<GpuDevice>& devices, const std::vector<Process>& processes) {
    TargetGpu gpu = join_gpu(devices, kNow, processes);
    sum_gpu_by_role(gpu, processes);
    return gpu;
}

TEST(JoinGpu, SumsByRoleRankAndDevice) {
    const std::vector<Process> processes = {process(10, Role::launcher), process(11, Role::trainer, 0),
                                            process(12, Role::trainer, 1), process(13, Role::trainer, 1)};
    const std::vector<GpuDevice> devices = {device("a", 500, {{11, Bytes{100}}, {12, Bytes{5}}}),
                                            device("b", 500, {{12, Bytes{200}}, {13, Bytes{30}}, {99, Bytes{40}}})};
    const TargetGpu gpu = joined(devices, processes);
    EXPECT_THAT(gpu.processes, SizeIs(3));
    EXPECT_FALSE(gpu.processes.contains(99)) << "a process of another target";
    EXPECT_EQ(gpu.roles.at({{Role::trainer, 0}, "a"}).used, Bytes{100});
    EXPECT_EQ(gpu.roles.at({{Role::trainer, 1}, "a"}).used, Bytes{5});
    EXPECT_EQ(gpu.roles.at({{Role::trainer, 1}, "b"}).used, Bytes{230});
    EXPECT_EQ(held_on(devices[1], devices, gpu), Bytes{230});
    EXPECT_EQ(others_on(devices[1], devices, gpu), Bytes{270});
}

TEST(JoinGpu, AYoungerProcessOfTheSamePidIsAnother) {
    EXPECT_THAT(joined({device("a", 5, {{11, Bytes{5}}})}, {process(11, Role::trainer, {}, kNow + 1)}).processes,
                IsEmpty());
}

TEST(JoinGpu, FiguresThatTheDriverLacksStayUnknown) {
    const std::vector<GpuDevice> devices = {device("a", 500, {{11, std::nullopt}, {12, Bytes{5}}})};
    const TargetGpu gpu = joined(devices, {process(11, Role::trainer), process(12, Role::other)});
    EXPECT_TRUE(gpu.processes.at(11).devices.contains("a")) << "it has a context there";
    EXPECT_FALSE(gpu.roles.at({{Role::trainer, {}}, "a"}).used);
    EXPECT_FALSE(held_on(devices[0], devices, gpu));
    EXPECT_FALSE(others_on(devices[0], devices, gpu)) << "the owner of the rest is not known";
}

TEST(JoinGpu, WithoutWatchedProcessesOthersHoldEverything) {
    const std::vector<GpuDevice> devices = {device("a", 500, {{99, Bytes{400}}})};
    EXPECT_EQ(others_on(devices[0], devices, std::nullopt), Bytes{500});
    EXPECT_FALSE(held_on(devices[0], devices, joined(devices, {})));
}

TEST(JoinGpu, WithoutKnownHoldersTheMemoryOfOthersIsUnknown) {
    std::vector<GpuDevice> devices = {device("a", 500, {})};
    devices[0].knows_holders = false;
    EXPECT_FALSE(others_on(devices[0], devices, std::nullopt));
}

TEST(JoinGpu, AGpuWithMigDevicesHoldsTheirSum) {
    std::vector<GpuDevice> devices = {device("gpu", 500, {{9, Bytes{50}}}), device("mig", 200, {{11, Bytes{150}}})};
    devices[1].part_of = "gpu";
    const TargetGpu gpu = joined(devices, {process(11, Role::trainer)});
    EXPECT_EQ(held_on(devices[0], devices, gpu), Bytes{150});
    EXPECT_EQ(others_on(devices[0], devices, gpu), Bytes{350});
    EXPECT_EQ(others_on(devices[1], devices, gpu), Bytes{50});
}

TEST(GpuIndexOfHolders, IsKnownForProcessesOnExactlyOneGpu) {
    std::vector<GpuDevice> devices = {device("a", 500, {{11, {}}, {12, {}}}), device("b", 500, {{12, {}}, {13, {}}}),
                                      device("c", 500, {}), device("part", 100, {{14, {}}})};
    for (unsigned i = 0; i < 3; ++i) devices[i].index = i;
    devices[3].index = 2;
    devices[3].part_of = "c";
    EXPECT_THAT(gpu_index_of_holders(devices),
                testing::ElementsAre(testing::Pair(11, 0), testing::Pair(12, std::nullopt), testing::Pair(13, 1),
                                     testing::Pair(14, std::nullopt)));
}

TEST(SumGpuByRole, SumsReservedAndPinnedMemory) {
    const std::vector<Process> processes = {process(11, Role::trainer), process(12, Role::trainer)};
    TargetGpu gpu;
    gpu.processes[11].devices["a"].reserved[0] = Bytes{7};
    gpu.processes[12].devices["a"].reserved[0] = Bytes{8};
    gpu.processes[12].pinned.by_kind[1] = Bytes{9};
    sum_gpu_by_role(gpu, processes);
    sum_gpu_by_role(gpu, processes);  // a second call must not count anything twice
    EXPECT_EQ(gpu.roles.at({{Role::trainer, {}}, "a"}).reserved_total(), Bytes{15});
    EXPECT_EQ(gpu.pinned.at({Role::trainer, {}}).total(), Bytes{9});
}

TEST(TensorsByRole, AreKnownIfTheyAreKnownForAllProcessesThatReserveMemory) {
    const std::vector<Process> processes = {process(9, Role::trainer), process(10, Role::trainer),
                                            process(11, Role::other)};
    TargetGpu gpu;
    const RoleKey trainer{Role::trainer, {}};
    gpu.processes[9].devices["a"] = {.used = {}, .reserved = {Bytes{100}}, .tensors = Bytes{60}};
    gpu.processes[10].devices["a"] = {.used = {}, .reserved = {Bytes{50}}, .tensors = Bytes{20}};
    gpu.processes[11].devices["a"] = {.used = {}, .reserved = {Bytes{50}}, .tensors = {}};
    gpu.processes[10].devices["b"] = {.used = Bytes{500}, .reserved = {}, .tensors = {}};
    gpu.processes[9].devices["b"] = {.used = {}, .reserved = {Bytes{10}}, .tensors = Bytes{10}};
    sum_tensors_by_role(gpu, processes);
    EXPECT_EQ((gpu.roles.at({trainer, "a"}).tensors), Bytes{80});
    EXPECT_EQ((gpu.roles.at({trainer, "b"}).tensors), Bytes{10}) << "a process that reserves nothing has no tensors";
    EXPECT_FALSE((gpu.roles.contains({{Role::other, {}}, "a"})));

    gpu.roles.clear();
    gpu.processes[10].devices["a"].tensors.reset();
    sum_tensors_by_role(gpu, processes);
    EXPECT_FALSE((gpu.roles.contains({trainer, "a"})))
        << "with tensors of only some processes, the rest would look cached";
}

}  // namespace gpu_join_test
}  // namespace memscope
