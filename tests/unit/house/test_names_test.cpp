// Tests mirror the source tree: a newcomer finds the tests of a module by its path and name.
#include <gtest/gtest.h>

#include "source_files.h"

namespace test_names_test {

constexpr std::string_view kSuffix = "_test.cpp";

// True for tests/unit/FOLDER/MODULE_test.cpp and MODULE_ASPECT_test.cpp, if userspace/FOLDER has that module.
bool names_module(const fs::path& folder, const std::string& test) {
    for (std::string name = test;; name.erase(name.rfind('_'))) {
        if (fs::exists(folder / (name + ".h")) || fs::exists(folder / (name + ".cpp"))) return true;
        if (name.find('_') == std::string::npos) return false;
    }
}

TEST(House, EveryTestIsNamedAfterAModule) {
    const fs::path tests = fs::path(MEMSCOPE_SOURCE_DIR) / "tests" / "unit";
    std::size_t found = 0;
    for (const fs::path& file : source_files("tests/unit")) {
        const std::string name = file.filename();
        const fs::path folder = fs::relative(file.parent_path(), tests);
        // The first has the rules of the house, the second judges whole series.
        if (!name.ends_with(kSuffix) || folder == "house" || folder == "verdicts") continue;
        ++found;
        EXPECT_TRUE(names_module(fs::path(MEMSCOPE_SOURCE_DIR) / "userspace" / folder,
                                 name.substr(0, name.size() - kSuffix.size())))
            << file << " is named after no module of " << folder;
    }
    EXPECT_GT(found, 200U);
}

TEST(House, FindsATestWithoutAModule) {
    const fs::path base = fs::path(MEMSCOPE_SOURCE_DIR) / "userspace" / "base";
    EXPECT_TRUE(names_module(base, "text"));
    EXPECT_TRUE(names_module(base, "text_printable"));
    EXPECT_FALSE(names_module(base, "texts"));
    EXPECT_FALSE(names_module(base, "printable_text"));
}

}  // namespace test_names_test
