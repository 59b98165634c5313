#include "watch/growth/line_growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace line_growth_test {

const RoleKey kTrainer{.role = Role::trainer, .rank = {}};
const RoleKey kLoader{.role = Role::dataloader_worker, .rank = {}};

CallSitePtr site(SharedFrames python, std::vector<NativeLocation> native = {}) {
    return std::make_shared<const CallSite>(CallSite{std::move(python), std::move(native)});
}

MATCHER_P3(Grew, role, place, bytes, "") { return arg.role == role && arg.place == place && arg.bytes == bytes; }

TEST(GrowthByLine, SumsProcessesAndStacksOfOneLineAndKeepsRolesApart) {
    const auto near = site({{"load", "/home/me/data.py", 7}, {"main", "/home/me/train.py", 90}});
    const auto far = site({{"load", "/home/me/data.py", 7}, {"validate", "/home/me/train.py", 35}});
    const auto lines =
        by_line({{near, 1, kTrainer, 10}, {near, 2, kTrainer, 5}, {far, 1, kTrainer, 3}, {near, 3, kLoader, 40}}, {});
    EXPECT_THAT(lines,
                testing::ElementsAre(Grew(kLoader, "load (data.py:7)", 40), Grew(kTrainer, "load (data.py:7)", 18)));
}

TEST(GrowthByLine, DistinguishesMemoryThatALineKeepsFromMemoryThatItTouchedFirst) {
    const auto touches = site({{"backward", "/home/me/train.py", 50}});
    const auto keeps = site({{"validate", "/home/me/train.py", 60}});
    const auto lines = by_line({{touches, 1, kTrainer, 10}}, {.mapped = {{keeps, 1, kTrainer, 30}}});
    EXPECT_THAT(lines, testing::ElementsAre(Grew(kTrainer, "validate (train.py:60)", 0),
                                            Grew(kTrainer, "backward (train.py:50)", 10)));
    EXPECT_EQ(lines[0].kept, 30);
    EXPECT_EQ(lines[1].kept, 0);
}

TEST(GrowthByLine, CountsATensorThatHasItsOwnMappingOnce) {
    const auto module = std::make_shared<Module>("/usr/lib/libc.so.6");
    const PythonFrame line{"validate", "/home/me/train.py", 60};
    const auto allocates = site({line});
    // The same stack with its native frames, which reach mmap().
    const auto maps = site({line}, {{module, 4096, false}});
    const auto lines = by_line({}, {.mapped = {{maps, 1, kTrainer, 32}}, .tensors = {{allocates, 1, kTrainer, 30}}});
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].kept, 32);
}

TEST(GrowthByLine, NamesNativeCodeByItsFile) {
    const auto module = std::make_shared<Module>("/usr/lib/libcrunch.so");
    const auto lines = by_line({{site({}, {{module, 4096, false}}), 1, kTrainer, 9}, {site({}), 1, kTrainer, 2}}, {});
    EXPECT_THAT(lines, testing::ElementsAre(Grew(kTrainer, "libcrunch.so", 9), Grew(kTrainer, "unknown code", 2)));
}

}  // namespace line_growth_test
}  // namespace memscope
