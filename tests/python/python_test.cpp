// Real interpreters of all versions: checks their offsets, and that their frames are those that they report themselves.
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "sources/python/python_finder.h"
#include "walker.h"

namespace memscope {

void PrintTo(const PythonFrame& frame, std::ostream* out) {
    *out << frame.function << " " << frame.file << ":" << frame.line;
}

namespace {

using Clock = std::chrono::steady_clock;
using Outcome = PythonSearch::Outcome;
using testing::HasSubstr;

long microseconds_since(Clock::time_point start) {
    return static_cast<long>(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count());
}

// An interpreter that runs tests/python/parked.py, or just started.
class Interpreter {
  public:
    explicit Interpreter(const std::string& name) {
        const std::string program = std::string(MEMSCOPE_PYTHONS) + "/" + name + "/python";
        const std::string script = std::string(MEMSCOPE_SOURCE_DIR) + "/tests/python/parked.py";
        if (!fs::exists(program)) throw std::runtime_error("no " + program + ": run tests/support/pythons");
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
        from_ = Fd(ends[0]);
        const Fd to(ends[1]);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::dup2(to.get(), STDOUT_FILENO);
            ::execl(program.c_str(), program.c_str(), "-B", script.c_str(), nullptr);
            ::_exit(9);
        }
    }
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;
    ~Interpreter() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

    pid_t pid() const { return pid_; }

    // The frames that the interpreter reports for its two threads, with the kernel's ids of the threads.
    std::vector<std::pair<pid_t, std::vector<PythonFrame>>> stacks() const {
        std::string text;
        char buffer[4096];
        while (!text.ends_with("parked\n")) {
            const ssize_t n = ::read(from_.get(), buffer, sizeof buffer);
            if (n <= 0) throw std::runtime_error("the interpreter ended after:\n" + text);
            text.append(buffer, static_cast<std::size_t>(n));
        }
        std::vector<std::pair<pid_t, std::vector<PythonFrame>>> stacks;
        for_each_line(text, [&](std::string_view line) {
            const auto fields = split(line, '\t');
            if (fields.size() == 3)
                stacks.back().second.push_back({std::string(fields[0]), std::string(fields[1]),
                                                static_cast<int>(parse_number(fields[2]).value_or(0))});
            else if (const auto tid = parse_number(line))
                stacks.emplace_back(static_cast<pid_t>(*tid), std::vector<PythonFrame>{});
        });
        return stacks;
    }

  private:
    pid_t pid_ = -1;
    Fd from_;
};

class KnownPython : public testing::TestWithParam<const char*> {};
class UnknownPython : public testing::TestWithParam<const char*> {};

TEST_P(KnownPython, HasItsStacksReadAsItSeesThemItself) {
    const Interpreter python(GetParam());
    const auto expected = python.stacks();
    ASSERT_EQ(expected.size(), 2U);
    PythonFinder finder;
    const auto search = finder.find(python.pid());
    ASSERT_EQ(search.outcome, Outcome::found) << search.why;
    for (const auto& [tid, frames] : expected) {
        ASSERT_GT(frames.size(), 20U);
        const auto stack = walk(ProcessMemory::of(python.pid()), search.layout, tid);
        EXPECT_THAT(stack.frames, testing::ElementsAreArray(frames));
    }
    std::printf("%s: version %d, thread id of the C library at %d\n", GetParam(), search.layout.version,
                search.layout.pthread_tid);
}

TEST_P(KnownPython, IsReadRightByTheKernelsCopiesAloneWhereTheyAreWhole) {
    const Interpreter python(GetParam());
    const auto expected = python.stacks();
    PythonFinder finder;
    const auto search = finder.find(python.pid());
    ASSERT_EQ(search.outcome, Outcome::found) << search.why;
    const auto stack = walk(ProcessMemory::of(python.pid()), search.layout, expected[0].first);
    std::size_t cut = 0;
    ASSERT_EQ(stack.first_look.size(), expected[0].second.size());
    for (std::size_t i = 0; i < stack.first_look.size(); ++i) {
        const PythonFrame &seen = stack.first_look[i], &truth = expected[0].second[i];
        EXPECT_TRUE(truth.function.starts_with(seen.function)) << seen.function << " for " << truth.function;
        EXPECT_TRUE(truth.file.starts_with(seen.file)) << seen.file << " for " << truth.file;
        EXPECT_TRUE(seen.line == truth.line || seen.line == 0) << seen.line << " for " << truth.line;
        cut += seen != truth ? 1 : 0;
    }
    EXPECT_GE(cut, 6U) << "the script has names and tables that a record has no room for";
}

TEST_P(KnownPython, IsFoundAsSoonAsItRuns) {
    PythonFinder finder;
    const Interpreter python(GetParam());
    const auto start = Clock::now();
    bool seen_starting = false;
    PythonSearch search;
    while ((search = finder.find(python.pid())).outcome != Outcome::found && microseconds_since(start) < 20'000'000) {
        ASSERT_NE(search.outcome, Outcome::unreadable) << search.why;
        seen_starting = seen_starting || search.outcome == Outcome::starting;
        ::usleep(1000);
    }
    ASSERT_EQ(search.outcome, Outcome::found) << search.why;
    std::printf("%s: found %ld us after its start%s\n", GetParam(), microseconds_since(start),
                seen_starting ? ", seen while it started" : "");
}

TEST_P(KnownPython, IsFoundQuickly) {
    const Interpreter python(GetParam());
    (void)python.stacks();
    PythonFinder finder;
    auto start = Clock::now();
    ASSERT_EQ(finder.find(python.pid()).outcome, Outcome::found);
    const long cold = microseconds_since(start);
    constexpr int kTimes = 200;
    start = Clock::now();
    for (int i = 0; i < kTimes; ++i) ASSERT_EQ(finder.find(python.pid()).outcome, Outcome::found);
    std::printf("%s: %ld us when its file was never seen, %ld us after\n", GetParam(), cold,
                microseconds_since(start) / kTimes);
}

TEST_P(UnknownPython, IsRefusedWithItsVersion) {
    const Interpreter python(GetParam());
    (void)python.stacks();
    PythonFinder finder;
    const auto search = finder.find(python.pid());
    EXPECT_EQ(search.outcome, Outcome::unreadable);
    EXPECT_THAT(search.why,
                HasSubstr("CPython " + std::string(GetParam()) + " has a layout that memscope does not know"));
}

TEST(NoPython, IsRecognizedQuickly) {
    PythonFinder finder;
    auto start = Clock::now();
    ASSERT_EQ(finder.find(::getpid()).outcome, Outcome::none);
    const long cold = microseconds_since(start);
    constexpr int kTimes = 200;
    start = Clock::now();
    for (int i = 0; i < kTimes; ++i) ASSERT_EQ(finder.find(::getpid()).outcome, Outcome::none);
    std::printf("none: %ld us when its file was never seen, %ld us after\n", cold, microseconds_since(start) / kTimes);
}

std::string word_of(const testing::TestParamInfo<const char*>& info) {
    std::string word = info.param;
    for (char& c : word)
        if (c == '.' || c == '-') c = '_';
    return word;
}

INSTANTIATE_TEST_SUITE_P(Cpython, KnownPython,
                         testing::Values("3.10", "3.11", "3.11-shared", "3.12", "3.13", "3.13-shared", "3.14",
                                         "3.14-shared", "3.15"),
                         word_of);
INSTANTIATE_TEST_SUITE_P(Cpython, UnknownPython, testing::Values("3.9"), word_of);

}  // namespace
}  // namespace memscope
