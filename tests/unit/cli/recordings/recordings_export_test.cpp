#include <gmock/gmock.h>
#include <sys/stat.h>

#include "cli/recordings/recordings.h"
#include "support/fake_tree.h"
#include "support/recorded_job.h"

namespace memscope {
namespace recordings_export_test {

using testing::HasSubstr;
using testing::StartsWith;

struct AnExportToAFile : testing::Test {
    FakeTree tree{{"state/", ""}, {"out/", ""}};
    fs::path recorded = recorded_run(tree.at("state"), "train", 5, [](int) { return Bytes{1U << 20U}; });
    fs::path output = tree.at("out") / "result";

    ExportOptions options(std::string format) const {
        return {.recording = recorded.string(), .format = std::move(format), .output = output.string()};
    }
    static Status no_text(std::string_view text) {
        ADD_FAILURE() << "nothing goes to standard output: " << text;
        return Done{};
    }
    std::string text() const { return *read_file(output, 1 << 20); }
};

TEST_F(AnExportToAFile, ReplacesTheFileWhenItIsComplete) {
    ASSERT_TRUE(export_recording(options("csv"), no_text, true));
    EXPECT_THAT(text(), StartsWith("t_seconds,bytes\n0.000,1048576\n"));
    ASSERT_TRUE(export_recording(options("json"), no_text, true));
    EXPECT_THAT(text(), StartsWith("{"));
    struct stat file{};
    ASSERT_EQ(::stat(output.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777U, 0640U);
}

TEST_F(AnExportToAFile, LeavesTheOldFileIfItFails) {
    ASSERT_TRUE(export_recording(options("csv"), no_text, false));
    const std::string before = text();
    ExportOptions wrong = options("json");
    wrong.target = "trian";
    EXPECT_FALSE(export_recording(wrong, no_text, false));
    EXPECT_EQ(text(), before);
    EXPECT_EQ(std::distance(fs::directory_iterator(tree.at("out")), {}), 1) << "nothing else is left";
}

TEST_F(AnExportToAFile, MakesACopyThatIsARecording) {
    ASSERT_TRUE(export_recording(options("recording"), no_text, true));
    EXPECT_EQ(reopened(output).target({})->info.name, "train");
}

TEST_F(AnExportToAFile, NeverReplacesTheRecordingOrADevice) {
    output = recorded;
    EXPECT_THAT(export_recording(options("recording"), no_text, true).error().message(), HasSubstr("itself"));
    output = "/dev/null";
    EXPECT_THAT(export_recording(options("csv"), no_text, true).error().message(), HasSubstr("not a regular file"));
}

TEST_F(AnExportToAFile, IsNeededForABinaryFormatOnATerminal) {
    for (const char* format : {"perfetto", "recording"}) {
        ExportOptions without = options(format);
        without.output.reset();
        EXPECT_THAT(export_recording(without, no_text, true).error().message(), HasSubstr("--output")) << format;
        std::string bytes;
        const auto take = [&](std::string_view piece) -> Status {
            bytes += piece;
            return Done{};
        };
        EXPECT_TRUE(export_recording(without, take, false)) << format;
        EXPECT_FALSE(bytes.empty());
    }
}

}  // namespace recordings_export_test
}  // namespace memscope
