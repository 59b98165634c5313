#include "cli/offer.h"

#include <gmock/gmock.h>

#include "cli/arguments/shell_words.h"

namespace memscope {
namespace offer_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Offer two_jobs() {
    Offer offer;
    offer.jobs.push_back({.candidate = {.name = "train.py",
                                        .pid = 12,
                                        .processes = 9,
                                        .memory = {std::uint64_t{3} << 30U},
                                        .cgroup = "system.slice/job.scope",
                                        .trains = true},
                          .limit = Limit(Bytes{std::uint64_t{4} << 30U})});
    offer.jobs.push_back(
        {.candidate = {.name = "a\x1b[31m.py", .pid = 13, .processes = 1, .memory = {1U << 30U}, .trains = true}});
    return offer;
}

TEST(Offer, ListsJobsWithTheCommandsThatWatchThem) {
    const std::string text = offer_text(two_jobs(), false);
    EXPECT_THAT(text,
                AllOf(HasSubstr("3.0 GiB"), HasSubstr("4.0 GiB"), HasSubstr("train.py"),
                      HasSubstr("\n      sudo memscope --cgroup /system.slice/job.scope\n"),
                      HasSubstr("\n      sudo memscope --pid 13\n"), HasSubstr("sudo memscope -- python train.py")));
    EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << "a name steers no terminal";
    EXPECT_THAT(offer_text(two_jobs(), true), Not(HasSubstr("sudo")));
}

TEST(Offer, SaysWhatItCouldNotRead) {
    Offer offer = two_jobs();
    EXPECT_THAT(offer_text(offer, false), Not(HasSubstr("could not be read")));
    offer.unreadable = 3;
    offer.without_argv = 1;
    offer.complete = false;
    EXPECT_THAT(offer_text(offer, false),
                AllOf(HasSubstr("3 processes could not be read, run `sudo memscope`"),
                      HasSubstr("The command line of 1 process could not be read"), HasSubstr("too many processes")));
}

TEST(Offer, SaysThatNothingLooksLikeTraining) {
    EXPECT_THAT(offer_text({}, false), HasSubstr("No process here holds 64 MiB"));
    Offer offer = two_jobs();
    for (Offer::Job& job : offer.jobs) job.candidate.trains = false;
    EXPECT_THAT(offer_text(offer, false), HasSubstr("Nothing looks like a training job"));
}

TEST(Offer, ACgroupWithCharactersOfAGlobIsWatchedByItsPid) {
    Offer offer = two_jobs();
    offer.jobs[0].candidate.cgroup = "a[1]";
    EXPECT_THAT(offer_text(offer, false), HasSubstr("memscope --pid 12"));
}

TEST(Offer, OfThisMachineIsMadeWithoutPrivileges) {
    const Offer offer = make_offer(SysRoot{});
    EXPECT_LE(offer.jobs.size(), 8U);
    EXPECT_THAT(offer_text(offer, false), HasSubstr("memscope --help"));
}

TEST(ShellWords, QuoteCharactersThatAShellInterprets) {
    EXPECT_EQ(shell_word("train.py"), "train.py");
    EXPECT_EQ(shell_word("a b"), "'a b'");
    EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
    EXPECT_EQ(shell_word(""), "''");
    const std::vector<std::string> words(1000, "word");
    EXPECT_LE(shell_words(words).size(), 210U);
    EXPECT_TRUE(shell_words(words).ends_with(" ..."));
}

}  // namespace offer_test
}  // namespace memscope
