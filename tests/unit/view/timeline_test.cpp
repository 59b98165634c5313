#include "view/timeline.h"

#include <gmock/gmock.h>

#include "example.h"

namespace memscope::view {
namespace timeline_test {

using test::Screen;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Timeline half() {
    return {.clock = "2026-11-15 03:40:10", .position = Seconds{1800}, .length = Seconds{3600}, .speed = 16};
}

TEST(ViewTimeline, ShowsTheMomentTheSpeedAndThePlaceInTheRecording) {
    const Line line = timeline_line(half(), 100);
    EXPECT_EQ(line.width(), 100U);
    EXPECT_THAT(line.text(), HasSubstr("▶ 2026-11-15 03:40:10  ×16 "));
    EXPECT_THAT(line.text(), HasSubstr("━●─"));
    EXPECT_THAT(line.text(), HasSubstr(" 30 min of 60 min "));
    Timeline paused = half();
    paused.paused = true;
    EXPECT_THAT(timeline_line(paused, 100).text(), HasSubstr("paused"));
}

TEST(ViewTimeline, ShowsTheWorstMarkOfACell) {
    Timeline timeline = half();
    timeline.marks = {{Seconds{0}, Style::bad}, {Seconds{0}, Style::plain}, {Seconds{3600}, Style::warn}};
    const Line line = timeline_line(timeline, 100);
    std::vector<Style> marks;
    for (const Span& span : line.spans)
        if (span.text == "▼") marks.push_back(span.style);
    EXPECT_THAT(marks, ElementsAre(Style::bad, Style::warn));
}

TEST(ViewTimeline, NeverLeavesItsWidth) {
    Timeline timeline = half();
    timeline.marks = {{Seconds{-5}, Style::bad}, {Seconds{1e300}, Style::bad}};
    for (std::size_t width = 0; width < 120; ++width) EXPECT_LE(timeline_line(timeline, width).width(), width);
    timeline.length = Seconds{0};
    EXPECT_EQ(timeline_line(timeline, 100).width(), 100U);
}

TEST(ViewTimeline, IsShownAboveTheLastLineOnlyInAReplay) {
    Screen screen;
    EXPECT_THAT(screen.text(), Not(HasSubstr("▶ ")));
    screen.state.timeline = half();
    screen.draw();
    ASSERT_EQ(screen.scene.lines.size(), 24U);
    EXPECT_THAT(screen.scene.lines[22].text(), HasSubstr("▶ 2026-11-15"));
    EXPECT_THAT(screen.scene.lines[23].text(), HasSubstr("quit"));
}

TEST(ViewTimeline, KeysMoveInTimeInAReplayOnly) {
    Screen screen;
    screen.type(" e");
    screen.key(Key::Code::left);
    EXPECT_THAT(screen.state.commands, IsEmpty());
    screen.state.timeline = half();
    screen.type(" e.<");
    screen.key(Key::Code::right);
    EXPECT_THAT(screen.state.commands,
                ElementsAre(ReplayCommand::pause, ReplayCommand::next_event, ReplayCommand::tick_forward,
                            ReplayCommand::far_back, ReplayCommand::forward));
    screen.state.commands.clear();
    screen.type("/e ");
    EXPECT_THAT(screen.state.commands, IsEmpty()) << "the keys are typed into the filter";
    EXPECT_EQ(screen.state.filter, "e ");
}

}  // namespace timeline_test
}  // namespace memscope::view
