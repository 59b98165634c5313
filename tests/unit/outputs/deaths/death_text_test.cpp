#include "outputs/deaths/death_text.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "outputs/deaths/death_report_bounds.h"
#include "outputs/text/text_layout.h"
#include "support/dead_job.h"

namespace memscope {
namespace death_text_test {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST(DeathBlock, SaysWhatHappenedWhichRolesHeldMemoryAndWhatToDo) {
    EXPECT_THAT(
        death_block(test::dead_job(), "/var/lib/memscope/death-1.json"),
        ElementsAre("train: death: the kernel killed python3 (pid 101, trainer) at its own limit of 512 MiB, it held "
                    "441 MiB",
                    "  memory     508 MiB used, 500 MiB of it not reclaimable, of 512 MiB (its own",
                    "             limit), 1 s before",
                    "             anon 490 MiB, shmem 2.0 MiB, file 8.0 MiB, kernel 8.0 MiB",
                    "  held by    trainer 440 MiB, dataloader worker 40 MiB, launcher 10 MiB",
                    "  verdict    leaking; its own limit was expected in 12 s (10 s to 15 s)",
                    "  precursors near_limit for 45 s",
                    "  grew       History.append (history.py:41) keeps 400 MiB more than when",
                    "             watching began.", "  to do      It was leaking: find the objects that the job keeps.",
                    "  details    memscope report /var/lib/memscope/death-1.json"));
}

TEST(DeathBlock, WorkersHeldTheirOwnMemoryOnly) {
    DeathReport report = test::dead_job();
    auto& roles = report.then.targets.front().roles;
    const auto worker =
        std::ranges::find_if(roles, [](const auto& r) { return r.first.role == Role::dataloader_worker; });
    worker->second.anon += Bytes{800 << 20};
    worker->second.inherited += Bytes{800 << 20};
    EXPECT_THAT(death_block(report, ""),
                testing::Contains("  held by    trainer 440 MiB, dataloader worker 40 MiB, launcher 10 MiB"));
}

TEST(DeathBlock, ShowsOnlyTheGpusOnWhichTheJobHeldMemory) {
    const auto lines = death_block(test::dead_job_on_gpus(), "");
    EXPECT_THAT(lines, testing::Contains("  GPUs       GPU 0 (140 GiB): target 60 GiB (18 GiB cached or fragmented),"));
    EXPECT_THAT(lines, testing::Contains("             others 10 GiB, 97 % busy, 2 Xid errors"));
    EXPECT_THAT(lines, Each(Not(HasSubstr("GPU 1"))));
}

TEST(DeathBlock, ShowsTheAgeOfGpuFiguresBeforeAFailedCudaAllocation) {
    DeathReport report = test::dead_job_on_gpus();
    report.deaths.front().gpu = GpuShortage{.before_exit = Seconds{0.3}};
    report.deaths.front().time = report.then.time + 1.1;
    EXPECT_THAT(death_block(report, ""),
                testing::Contains(HasSubstr("  GPUs       0.8 s before that call: GPU 0 (140 GiB): target 60")));
}

// A report in which every text and list is as long as possible.
DeathReport crowded() {
    DeathReport report = test::dead_job_on_gpus();
    const std::string endless(5000, 'x');
    std::string sentence;
    for (int i = 0; i < 400; ++i) sentence += "word ";
    report.deaths.resize(300, report.deaths.front());
    report.deaths_left_out = 12345;
    report.deaths.front().explanation = sentence;
    report.advice = {sentence, sentence};
    TargetSnapshot& target = report.then.targets.front();
    target.info.name = endless;
    target.memory.effective->owner = sentence;
    for (GpuDevice& gpu : report.then.gpus) gpu.trouble = sentence;
    for (int rank = 0; rank < 200; ++rank) target.roles[{Role::trainer, rank}] = {.anon = {1}, .processes = 1};
    for (const PrecursorKind kind : kPrecursorKinds) target.precursors.push_back({kind, 1, sentence});
    report.growth->resident.sites[0].python[0] = {endless, endless, 5};
    report.growth->sentence = sentence;
    return report;
}

TEST(DeathBlock, IsShortAndNarrowForAnyReport) {
    const auto lines = death_block(crowded(), std::string(300, 'f'));
    EXPECT_LE(lines.size(), 19);
    EXPECT_THAT(lines.back(), testing::EndsWith(std::string(300, 'f')));  // a cut path cannot be used
    for (std::size_t i = 1; i + 1 < lines.size(); ++i) EXPECT_LE(display_width(lines[i]), 80) << lines[i];
}

// Names with escape sequences for the terminal.
DeathReport hostile() {
    DeathReport report = test::dead_job_on_gpus();
    const std::string evil = "\x1b[2J\x07\n\xe2\x80\xae\xff";
    Death& death = report.deaths.front();
    death.comm = evil;
    death.explanation.clear();
    TargetSnapshot& target = report.then.targets.front();
    target.info.name = evil;
    target.info.kind = evil;
    for (GpuDevice& gpu : report.then.gpus) gpu.name = gpu.trouble = evil;
    target.memory.effective->owner = evil;
    for (Process& process : target.processes) {
        process.task.comm = evil;
        process.command = std::make_shared<const std::string>(evil);
    }
    report.growth->resident.sites[0].python[0] = {evil, evil, 5};
    report.growth->mapped.sites[0].python[0] = {evil, evil, 5};
    report.growth->sentence = report.growth->owner->place = evil;
    report.events.push_back({1, evil, evil});
    report.advice = {evil};
    report.deaths.push_back(death);
    return report;
}

TEST(DeathBlock, ShowsNoEscapes) {
    EXPECT_THAT(death_block(hostile(), "x\x1b"), Each(AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\n")),
                                                            Not(HasSubstr("\xe2\x80\xae")), Not(HasSubstr("\xff")))));
}

TEST(DeathBlock, ADeathWithoutAnExplanationStillHasASentence) {
    Death death = test::oom_kill_of_trainer();
    death.explanation.clear();
    EXPECT_EQ(death_text(death), "python3 (pid 101) died: oom_kill.");
}

TEST(DeathBlock, TimesOutOfRangeAreShownAsTheNearest) {
    EXPECT_EQ(time_of_day(-5), "00:00:00");
    EXPECT_EQ(date_and_time(1e300), "9999-12-31 23:59:59 UTC");
}

TEST(DeathStory, HasSentenceTimelineHoldersAndAdvice) {
    const std::string story = death_story(test::dead_job(), false);
    EXPECT_THAT(story, testing::StartsWith("The kernel killed python3 (pid 101, trainer)"));
    for (const char* part :
         {"2025-11-15 15:03:38 UTC, train (cgroup)", "TIMELINE (UTC)", "  14:55:18    -8 min  warm-up ended",
          "  15:02:53     -45 s  near_limit: 97 %", "  15:03:38         0  The kernel killed",
          "held 440 MiB to 499 MiB in the last 59 s, 499 MiB at the end", "MEMORY OF THE JOB, 1 s BEFORE THE DEATH",
          "    101  └─ python3 -u train.py", "WHAT GREW\n  History.append (history.py:41) keeps 400 MiB",
          "mapped and not unmapped, since watching began", "400 MiB  trainer", "/job/history.py:41 History.append",
          "WHAT TO DO\n- It was leaking: find the objects that the job keeps.\n- A higher limit"})
        EXPECT_THAT(story, HasSubstr(part));
    EXPECT_THAT(story, Not(HasSubstr("PROCESSES THAT DIED")));
}

TEST(DeathStory, SaysWhenThePagesOfFirstTouchersWereChecked) {
    DeathReport report = test::dead_job();
    report.growth->owner.reset();
    EXPECT_THAT(death_story(report, false), HasSubstr("memscope had not checked yet"));
    report.growth->pages_checked = Seconds{12};
    EXPECT_THAT(death_story(report, false), HasSubstr("memscope checked 12 s before"));
    report.growth->resident_method = ResidentMethod::first_touch;
    EXPECT_THAT(death_story(report, false), Not(HasSubstr("checked 12 s")));
}

TEST(DeathStory, ListsTheOthersThatDied) {
    DeathReport report = test::dead_job();
    report.deaths.resize(20, report.deaths.front());
    report.deaths_left_out = 4;
    EXPECT_THAT(death_story(report, false), AllOf(HasSubstr("PROCESSES THAT DIED"), HasSubstr("... and 12 more")));
}

TEST(DeathStory, IsEightyColumnsWideAndShowsNoEscapes) {
    for (const DeathReport& report : {hostile(), crowded()})
        for_each_line(death_story(report, false), [](std::string_view line) {
            EXPECT_LE(display_width(line), 80) << line;
            EXPECT_EQ(printable(line), line);
        });
}

TEST(DeathReportBounds, KeepTheLargestAndCountTheRest) {
    DeathReport report = crowded();
    auto& processes = report.then.targets.front().processes;
    for (int i = 0; i < 1000; ++i)
        processes.push_back(test::member(5000 + i, 101, Role::compile_worker, "python3", "x", Bytes{4096}));
    processes[1].command = std::make_shared<const std::string>(std::string(5000, 'c'));
    report.growth->resident.sites.resize(50, report.growth->resident.sites.front());
    report.events.resize(500, {1, "precursor", "x"});
    keep_within_bounds(report);
    EXPECT_THAT(report.deaths, SizeIs(DeathReportBounds::kDeaths));
    EXPECT_EQ(report.deaths_left_out, 12345 + 250);
    EXPECT_THAT(processes, SizeIs(DeathReportBounds::kProcesses));
    EXPECT_EQ(report.processes_left_out, 1003 - DeathReportBounds::kProcesses);
    EXPECT_EQ(processes[1].task.id.pid, 101);
    EXPECT_THAT(processes[1].command_text(), SizeIs(DeathReportBounds::kCommandBytes));
    EXPECT_THAT(report.growth->resident.sites, SizeIs(DeathReportBounds::kSites));
    EXPECT_EQ(report.growth->resident.unattributed.back().bytes, 40 * (400LL << 20U));
    EXPECT_THAT(report.events, SizeIs(DeathReportBounds::kEvents));
    EXPECT_LE(report.then.targets.front().roles.size(), DeathReportBounds::kRoles);
}

}  // namespace death_text_test
}  // namespace memscope
