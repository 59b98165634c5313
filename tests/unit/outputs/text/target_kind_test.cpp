#include "outputs/text/target_kind.h"

#include <gmock/gmock.h>

#include "outputs/text/verdict_text.h"

namespace memscope {
namespace target_kind_test {

using testing::HasSubstr;

TEST(TargetKind, AProcessHasItsPidBesideItsName) {
    EXPECT_EQ(target_kind_text({.name = "train", .cgroup_version = 1}), "cgroup v1");
    EXPECT_EQ(target_kind_text({.name = "pid:train.py", .kind = "pid", .pid = 4711}), "pid 4711, cgroup v2");
    EXPECT_EQ(target_kind_text({.name = "cmd:train.py", .kind = "command", .pid = 12}), "pid 12, cgroup v2");
    EXPECT_EQ(target_kind_text({.name = "x", .kind = "p\x1b[31m"}).find('\x1b'), std::string::npos);
}

TEST(VerdictText, TooFewSamplesAreTooEarlyToTell) {
    Judgement judgement;
    judgement.samples = 2;
    judgement.until = Seconds(10);
    EXPECT_EQ(verdict_text(judgement, {}, {}),
              "too early to tell: the series has 2 samples in 10 s, record it for longer\n");
    EXPECT_EQ(phrase(Verdict::warming_up), "warming up");
    EXPECT_EQ(phrase(Verdict::leaking), "leaking");
    EXPECT_EQ(word(Verdict::insufficient), "insufficient") << "programs read this word";
}

TEST(VerdictText, ATimeThatIsADateIsShownFromTheStart) {
    Judgement judgement;
    judgement.verdict = Verdict::leaking;
    judgement.leak_started = Seconds(600);
    EXPECT_THAT(verdict_text(judgement, Seconds(0), {}), HasSubstr("leaks since 600 s (10 min after the start)\n"));
    EXPECT_THAT(verdict_text(judgement, Seconds(600), {}), HasSubstr("leaks since 600 s (the start)\n"));
    judgement.leak_started = Seconds(1794936885);
    EXPECT_THAT(verdict_text(judgement, Seconds(1794936885 - 600), {}),
                HasSubstr("leaks since 10 min after the start\n"));
}

}  // namespace target_kind_test
}  // namespace memscope
