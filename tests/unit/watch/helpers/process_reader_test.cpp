#include "watch/helpers/process_reader.h"

#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <tuple>
#include <unistd.h>

#include "base/result.h"
#include "support/fake_tree.h"
#include "support/few_descriptors.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {
namespace process_reader_test {

enum class Kind : std::uint32_t { echo, block, crash, large, file, work, trickle, pid, huge };

template <Kind kind>
struct Job {
    static constexpr Kind kKind = kind;
    using Answer = std::string;
    pid_t pid = 0;
    std::string text{};
    auto fields() { return std::tie(pid, text); }
    pid_t asked_of() const { return pid; }
};
using Echo = Job<Kind::echo>;
using Block = Job<Kind::block>;
using Crash = Job<Kind::crash>;
using Large = Job<Kind::large>;
using Huge = Job<Kind::huge>;
using Work = Job<Kind::work>;
using Trickle = Job<Kind::trickle>;
using Pid = Job<Kind::pid>;

struct FileAnswer {
    Fd file{};
    auto fields() { return std::tie(file); }
};
struct FileJob {
    static constexpr Kind kKind = Kind::file;
    using Answer = FileAnswer;
    pid_t pid = 0;
    auto fields() { return std::tie(pid); }
    pid_t asked_of() const { return pid; }
};

void use_cpu_for(Seconds time) {
    const std::clock_t end = std::clock() + static_cast<std::clock_t>(time.count() * CLOCKS_PER_SEC);
    while (std::clock() < end) {
    }
}

Packer work(Unpacker& bytes) {
    static std::shared_ptr<FileAnswer> kept;
    Kind kind{};
    Echo job;
    bytes.take(kind);
    bytes.take(job);
    Packer packer;
    if (kind == Kind::block) {
        // The text names a FIFO. Opening it tells the test that this job runs now.
        if (!job.text.empty()) (void)!::open(job.text.c_str(), O_WRONLY | O_CLOEXEC);
        for (;;) ::pause();
    }
    if (kind == Kind::crash) ::raise(SIGKILL);
    if (kind == Kind::work) use_cpu_for(Seconds{0.3});
    if (kind == Kind::trickle)
        for (;;) ::usleep(1000);
    if (kind == Kind::pid) job.text = std::to_string(::getpid());
    if (kind == Kind::large) job.text.assign(std::size_t{5} << 20, 'x');
    if (kind == Kind::huge) job.text.assign(ProcessReader::kMostKeptBytes + 1, 'x');
    if (kind == Kind::file) {
        int ends[2];
        if (::pipe(ends) != 0) ::_exit(1);
        [[maybe_unused]] const auto n = ::write(ends[1], "hello", 5);
        ::close(ends[1]);
        kept = std::make_shared<FileAnswer>();
        kept->file = Fd(ends[0]);
        packer.put(true);
        packer.put(*kept);
        return packer;
    }
    packer.put(Result<std::string>(job.text));
    return packer;
}

std::shared_ptr<HelperSpawner> spawner() {
    auto started = HelperSpawner::start({.prepare = {}, .serve = [](Fd socket) { serve_requests(socket, work); }});
    EXPECT_TRUE(started);
    return *started;
}

// Asks again until there is an answer, as the loop does at each tick.
template <class J>
Result<typename J::Answer> answer_of(ProcessReader& reader, const J& job) {
    for (;;) {
        if (auto answer = reader.ask(job)) return std::move(*answer);
        pollfd wanted{reader.fd(), POLLIN, 0};
        (void)::poll(&wanted, 1, 20);
        reader.pump();
    }
}

class ProcessReaderTest : public testing::Test {
  protected:
    ProcessReader::Settings quick() const { return {.root = tree.root(), .deadline = Seconds{0.2}}; }
    ProcessReader::Settings patient() const { return {.root = tree.root(), .deadline = Seconds{60}}; }

    const FakeTree tree{{"proc/7/comm", "hostile\n"}, {"proc/7/cgroup", "0::/a\n"}, {"proc/8/cgroup", "0::/b\n"}};
};

TEST_F(ProcessReaderTest, ReturnsTheAnswerOfTheHelper) {
    ProcessReader reader(spawner(), quick());
    const auto answer = answer_of(reader, Echo{.pid = 1, .text = "so it is"});
    ASSERT_TRUE(answer);
    EXPECT_EQ(*answer, "so it is");
    EXPECT_EQ(reader.restarts(), 0U);
}

TEST_F(ProcessReaderTest, LongAnswersComeWhole) {
    ProcessReader reader(spawner(), patient());
    const auto answer = answer_of(reader, Large{.pid = 1});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->size(), std::size_t{5} << 20);
}

// Submits a job, waits for its answer without taking it, and returns whether the answer is still there after `time`.
bool is_kept(ProcessReader& reader, Seconds time) {
    reader.submit(Echo{.pid = 1, .text = "later"});
    while (reader.answers() == 0) {
        pollfd wanted{reader.fd(), POLLIN, 0};
        (void)::poll(&wanted, 1, 20);
        reader.pump();
    }
    std::this_thread::sleep_for(time);
    reader.pump();
    return reader.ask(Echo{.pid = 1, .text = "later"}) && reader.answers() == 1;  // 2: it was asked again
}

TEST_F(ProcessReaderTest, UnusedAnswersAreKeptForTheTimeThatTheCallerSets) {
    constexpr Seconds kLater{1.5};
    ProcessReader first(spawner(), patient());
    EXPECT_TRUE(is_kept(first, kLater));
    ProcessReader second(spawner(), patient());
    second.keep_answers(Seconds{0.1});
    EXPECT_FALSE(is_kept(second, kLater));
}

TEST_F(ProcessReaderTest, KeepsOnlyTheNewestUnusedAnswersAboveTheMemoryBound) {
    ProcessReader reader(spawner(), patient());
    constexpr std::uint64_t kJobs = 30;  // of 5 MiB
    for (std::uint64_t i = 0; i < kJobs; ++i) reader.submit(Large{.pid = 1, .text = std::to_string(i)});
    while (reader.answers() < kJobs) {
        pollfd wanted{reader.fd(), POLLIN, 0};
        (void)::poll(&wanted, 1, 20);
        reader.pump();
    }
    std::this_thread::sleep_for(Seconds{1.1});
    reader.pump();
    EXPECT_TRUE(reader.ask(Large{.pid = 1, .text = std::to_string(kJobs - 1)}));
    EXPECT_EQ(reader.answers(), kJobs);
    EXPECT_TRUE(answer_of(reader, Large{.pid = 1, .text = "0"}));
    EXPECT_EQ(reader.answers(), kJobs + 1) << "it was asked again";
}

TEST_F(ProcessReaderTest, AnAnswerAboveTheLimitOfMemoryIsHandedOut) {
    ProcessReader reader(spawner(), patient());
    const auto answer = answer_of(reader, Huge{.pid = 1, .text = {}});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->size(), ProcessReader::kMostKeptBytes + 1);
    EXPECT_EQ(reader.answers(), 1U) << "it was asked again";
}

TEST_F(ProcessReaderTest, HandsDescriptorsOver) {
    ProcessReader reader(spawner(), patient());
    const auto answer = answer_of(reader, FileJob{.pid = 1});
    ASSERT_TRUE(answer);
    char text[8] = {};
    EXPECT_EQ(::read(answer->file.get(), text, sizeof text), 5);
    EXPECT_STREQ(text, "hello");
}

TEST_F(ProcessReaderTest, ABlockingProcessOnlyDelaysOtherReads) {
    ProcessReader reader(spawner(), quick());
    ASSERT_FALSE(reader.ask(Block{.pid = 7}));
    for (int i = 0; i < 100; ++i) reader.submit(Echo{.pid = 8, .text = std::to_string(i)});
    const auto blocked = answer_of(reader, Block{.pid = 7});
    ASSERT_FALSE(blocked);
    EXPECT_EQ(blocked.error().code, std::errc::timed_out);
    for (int i = 0; i < 100; ++i) {
        const auto answer = answer_of(reader, Echo{.pid = 8, .text = std::to_string(i)});
        ASSERT_TRUE(answer) << i;
        EXPECT_EQ(*answer, std::to_string(i));
    }
    EXPECT_EQ(reader.restarts(), 1U);
}

TEST_F(ProcessReaderTest, AHelperThatIsLateBecauseItWorksIsWaitedFor) {
    ProcessReader reader(spawner(), quick());
    const auto answer = answer_of(reader, Work{.pid = 7, .text = "at last"});
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(*answer, "at last");
    EXPECT_EQ(reader.restarts(), 0U);
}

TEST_F(ProcessReaderTest, AHelperThatIsKeptBusyForEverIsReplaced) {
    ProcessReader reader(spawner(), {.root = tree.root(), .deadline = Seconds{0.05}});
    const auto answer = answer_of(reader, Trickle{.pid = 7});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, std::errc::timed_out);
}

TEST_F(ProcessReaderTest, ABlockingProcessIsNotReadAgainForAWhileAndIsNamedOnce) {
    ProcessReader reader(spawner(), quick());
    EXPECT_FALSE(answer_of(reader, Block{.pid = 7}));
    const auto again = reader.ask(Echo{.pid = 7, .text = "harmless"});
    ASSERT_TRUE(again) << "it is refused at once";
    EXPECT_EQ(again->error().code, std::errc::timed_out);
    EXPECT_TRUE(reader.is_blocked(7));
    EXPECT_FALSE(reader.is_blocked(8));
    const auto troubles = reader.take_troubles();
    ASSERT_EQ(troubles.size(), 1U);
    EXPECT_NE(troubles.front().message().find("process 7 (hostile)"), std::string::npos) << troubles.front().message();
    EXPECT_TRUE(reader.take_troubles().empty());
}

TEST_F(ProcessReaderTest, SkipsACgroupWhoseProcessesKeepBlocking) {
    const FakeTree many{{"proc/1/cgroup", "0::/a\n"},
                        {"proc/2/cgroup", "0::/a\n"},
                        {"proc/3/cgroup", "0::/a\n"},
                        {"proc/4/cgroup", "0::/a\n"},
                        {"proc/5/cgroup", "0::/b\n"}};
    ProcessReader reader(spawner(), {.root = many.root(), .deadline = Seconds{0.1}});
    for (const pid_t pid : {1, 2, 3}) EXPECT_FALSE(answer_of(reader, Block{.pid = pid}));
    EXPECT_TRUE(reader.is_blocked(4)) << "of the same cgroup";
    EXPECT_FALSE(reader.is_blocked(5));
    EXPECT_TRUE(answer_of(reader, Echo{.pid = 5, .text = "fine"}));
}

TEST_F(ProcessReaderTest, AHelperThatDiesIsReplacedAndItsRequestFails) {
    ProcessReader reader(spawner(), patient());
    EXPECT_FALSE(answer_of(reader, Crash{.pid = 7}));
    EXPECT_EQ(*answer_of(reader, Echo{.pid = 8, .text = "next"}), "next");
    EXPECT_EQ(reader.restarts(), 1U);
}

TEST_F(ProcessReaderTest, RequestsThatWaitGoToTheNextHelperIfTheirsIsKilled) {
    ProcessReader reader(spawner(), patient());
    const auto helper = answer_of(reader, Pid{.pid = 8});
    ASSERT_TRUE(helper);
    const auto pid = static_cast<pid_t>(std::stol(*helper));
    const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    pollfd ended{process.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&ended, 1, -1), 1);
    for (int i = 0; i < 10; ++i) reader.submit(Echo{.pid = 8, .text = std::to_string(i)});
    for (int i = 0; i < 10; ++i) {
        const auto answer = answer_of(reader, Echo{.pid = 8, .text = std::to_string(i)});
        ASSERT_TRUE(answer) << answer.error().message();
        EXPECT_EQ(*answer, std::to_string(i));
    }
    EXPECT_FALSE(reader.is_blocked(8));
    EXPECT_EQ(reader.restarts(), 1U);
}

TEST_F(ProcessReaderTest, WithoutASpawnerRequestsFailAfterTheirDeadlineAndSayThatNothingWasRead) {
    const auto helpers = spawner();
    EXPECT_TRUE(helpers->is_alive());
    const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, helpers->pid(), 0)));
    ASSERT_EQ(::kill(helpers->pid(), SIGKILL), 0);
    pollfd ended{process.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&ended, 1, -1), 1);
    EXPECT_FALSE(helpers->is_alive());

    ProcessReader asked(helpers, quick());
    const auto answer = answer_of(asked, Echo{.pid = 8, .text = "nobody is there"});
    ASSERT_FALSE(answer);
    EXPECT_TRUE(is_retryable(answer.error())) << answer.error().message();
    EXPECT_FALSE(asked.is_blocked(8));

    ProcessReader called(helpers, quick());
    for (int i = 0; i < 2; ++i) {
        const auto reply = called.call(Echo{.pid = 8, .text = "nobody is there"});
        ASSERT_FALSE(reply);
        EXPECT_TRUE(is_retryable(reply.error())) << reply.error().message();
    }
}

TEST_F(ProcessReaderTest, AnAnswerWithoutAFreeDescriptorBlamesNoProcess) {
    ProcessReader reader(spawner(), patient());
    ASSERT_TRUE(answer_of(reader, Echo{.pid = 7, .text = "the helper has started"}));
    {
        const FewDescriptors none(room_for(0));
        const auto file = answer_of(reader, FileJob{.pid = 7});
        ASSERT_FALSE(file);
        EXPECT_TRUE(is_out_of_descriptors(file.error())) << file.error().message();
        const auto in_file = answer_of(reader, Large{.pid = 7});
        ASSERT_FALSE(in_file);
        EXPECT_TRUE(is_out_of_descriptors(in_file.error())) << in_file.error().message();
        EXPECT_TRUE(answer_of(reader, Echo{.pid = 7, .text = "without a descriptor"}));
    }
    EXPECT_FALSE(reader.is_blocked(7));
    EXPECT_EQ(reader.restarts(), 0U);
    EXPECT_TRUE(answer_of(reader, FileJob{.pid = 7}));
}

TEST_F(ProcessReaderTest, AProcessThatEndsTheHelperOfAWaitingThreadIsReported) {
    ReadHelpers helpers(spawner(), tree.root());
    EXPECT_FALSE(helpers.patient.call(Crash{.pid = 7}));
    EXPECT_EQ(helpers.take_troubles().size(), 1U);
    EXPECT_TRUE(helpers.take_troubles().empty());
}

TEST_F(ProcessReaderTest, EndsWhileItsHelperIsBlocked) {
    const auto helpers = spawner();
    {
        ProcessReader reader(helpers, {.root = tree.root(), .deadline = Seconds{3600}});
        EXPECT_FALSE(reader.ask(Block{.pid = 7}));
    }  // the destructor returns although no answer will ever come
    ProcessReader next(helpers, {.root = tree.root(), .deadline = Seconds{60}});
    EXPECT_EQ(*answer_of(next, Echo{.pid = 8, .text = "still"}), "still");
}

TEST_F(ProcessReaderTest, AWaitingCallEndsOnRequest) {
    ProcessReader reader(spawner(), {.root = tree.root(), .deadline = Seconds{3600}});
    const std::string fifo = tree.at("started");
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    std::thread other([&] {
        const Fd started(::open(fifo.c_str(), O_RDONLY | O_CLOEXEC));  // waits until the helper has opened it
        reader.stop();
    });
    const auto answer = reader.call(Block{.pid = 7, .text = fifo});
    other.join();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, std::errc::operation_canceled);
}

}  // namespace process_reader_test
}  // namespace memscope
