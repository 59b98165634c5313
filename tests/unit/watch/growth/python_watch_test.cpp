#include "watch/growth/python_watch.h"

#include <gtest/gtest.h>

namespace memscope {
namespace python_watch_test {

constexpr ProcessId kProcess{.pid = 7, .start_ns = 1};

// A helper that answers when the test lets it. Each program has its own interpreter.
struct Helper {
    PythonWatch watch{{.ask = [this](const PythonJob& job) { return answer(job); },
                       .space_of = [this](pid_t) { return std::optional(space); },
                       .set_python = [this](pid_t, const ms_python& layout) { set.push_back(layout.runtime); }},
                      true};
    SpaceId space{1};
    std::optional<std::uint64_t> answered{};  // the interpreter in the answer that has arrived
    std::vector<std::uint64_t> jobs{};
    std::vector<std::uint64_t> set{};

    std::optional<Result<PythonSearch>> answer(const PythonJob& job) {
        jobs.push_back(job.number);
        if (!answered) return std::nullopt;
        PythonSearch found{.outcome = PythonSearch::Outcome::found};
        found.layout.runtime = *answered;
        return found;
    }
};

TEST(PythonWatch, SetsTheInterpreterThatIsFound) {
    Helper helper;
    helper.watch.check(kProcess);
    EXPECT_TRUE(helper.set.empty());
    helper.answered = 100;
    helper.watch.check_waiting();
    helper.watch.check_waiting();
    EXPECT_EQ(helper.set, std::vector<std::uint64_t>{100});
}

// The helper read the process before the exec, and its answer arrives after the exec.
TEST(PythonWatch, DoesNotSetTheInterpreterOfAnEarlierProgram) {
    Helper helper;
    helper.watch.check(kProcess);
    helper.answered = 100;
    helper.space = SpaceId{2};
    helper.watch.check_waiting();
    EXPECT_TRUE(helper.set.empty());
    helper.answered = 200;
    helper.watch.check_waiting();
    EXPECT_EQ(helper.set, std::vector<std::uint64_t>{200});
    EXPECT_NE(helper.jobs.front(), helper.jobs.back()) << "an answer to the first job would be of the earlier program";
}

}  // namespace python_watch_test
}  // namespace memscope
