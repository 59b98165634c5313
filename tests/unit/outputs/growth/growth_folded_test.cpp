#include "outputs/growth/growth_folded.h"

#include <gmock/gmock.h>
#include <regex>

#include "base/text.h"
#include "growth_example.h"

namespace memscope {
namespace growth_folded_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for_each_line(text, [&](std::string_view line) { lines.emplace_back(line); });
    return lines;
}

TEST(GrowthFolded, OneLinePerStackOutermostFirst) {
    EXPECT_THAT(
        lines_of(growth_folded(test::grown()).text),
        ElementsAre("trainer 0;<module> (/home/ada/job/train.py:240);main (/home/ada/job/train.py:203)"
                    ";train_step (/home/ada/job/train.py:118);History.append (/home/ada/job/history.py:41)"
                    ";PyObject_Malloc;__memset_generic 943718400",
                    HasSubstr(";[unmapped]+0x0;libjpeg.so.62+0x2000 314572800"),
                    "other;[vdso]+0x10;std::vector<float>::resize 41943040", "[unattributed];[other] 12582912"));
}

TEST(GrowthFolded, LeavesOutFramesOfTheInterpreter) {
    EXPECT_EQ(growth_folded(test::grown()).text.find("_PyEval"), std::string::npos);
    EXPECT_EQ(growth_folded(test::grown()).text.find("Py_RunMain"), std::string::npos);
    GrowthReport stripped = test::grown();
    for (NativeFrame& frame : stripped.growth.resident.sites[0].native) frame.symbol.clear();
    EXPECT_THAT(growth_folded(stripped).text, HasSubstr("history.py:41);libc.so.6+0x98f00 943718400\n"));
}

TEST(GrowthFolded, NegativeSumsAreInTheNote) {
    EXPECT_EQ(growth_folded(test::grown()).note,
              "2 of the sums are negative, and this format cannot show them: -11534336 bytes");
    EXPECT_THAT(growth_folded(test::many_sites(3)).note, IsEmpty());
}

TEST(GrowthFolded, SitesBeyondTheTopHaveALine) {
    GrowthReport report = test::many_sites(10);
    report.top = 8;
    EXPECT_EQ(lines_of(growth_folded(report).text).back(), "[left out];[2 call sites] 12288");
}

TEST(GrowthFolded, HostileNamesStayOneFrameOfOneLine) {
    const auto lines = lines_of(growth_folded(test::hostile_growth()).text);
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(std::ranges::count(lines[0], ';'), 5) << "a role, three Python and two native frames";
    EXPECT_THAT(lines[0],
                HasSubstr(";f:g\\n7 99\\x1b[2J (/tmp/\xEF\xBF\xBD\xEF\xBF\xBD:\\x0d\\n.py:3);[unmapped]+0x0;a:b"));
    EXPECT_TRUE(std::regex_match(lines[1], std::regex(R"(\[unattributed\];\[[^;]*\] [0-9]+)"))) << lines[1];
}

TEST(GrowthFolded, WithoutGrowthThereIsNoLine) { EXPECT_THAT(growth_folded({}).text, IsEmpty()); }

TEST(GrowthFolded, TenThousandSitesAreTenThousandLines) {
    EXPECT_EQ(lines_of(growth_folded(test::many_sites(10'000)).text).size(), 10'000U);
}

}  // namespace growth_folded_test
}  // namespace memscope
