#include "outputs/growth/growth_frames.h"

#include <gtest/gtest.h>

#include "analysis/growth/attribution.h"

namespace memscope {
namespace growth_frames_test {

// Paths that two definitions of "library" would treat differently.
constexpr const char* kCallees[] = {"/home/me/lib/python_tools/batch.py", "<__array_function__ internals>",
                                    "/opt/app/python311.zip/copy.py", "/tmp/torchinductor_me/ab/cab.py",
                                    "/usr/lib/python3.11/copy.py"};

TEST(GrowthFrames, TheOwnFrameIsThatOfTheVerdict) {
    for (const char* callee : kCallees) {
        GrowthSite site;
        site.python = {{"copy", callee, 7}, {"step", "/home/me/train.py", 4}};
        const SiteParts parts = parts_of(site);
        EXPECT_EQ(parts.own, own_frame(site.python)) << callee;
        EXPECT_EQ(parts.inside.size() + 1 + parts.callers.size(), site.python.size()) << callee;
    }
}

}  // namespace growth_frames_test
}  // namespace memscope
