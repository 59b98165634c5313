#include "analysis/targets/scope_sentence.h"

#include <gmock/gmock.h>

namespace memscope {
namespace scope_sentence_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = GrowthCause::Kind;

constexpr std::uint64_t kMiB = 1 << 20;
Bytes mib(std::uint64_t n) { return {n * kMiB}; }

ProcessHeap heap_of(pid_t pid, double time, std::uint64_t malloc_free, std::uint64_t live) {
    HeapCensus census{.process = {pid, 1}, .time = time, .anon = mib(malloc_free + live), .swap = {}};
    census.part(HeapPart::malloc_free) = mib(malloc_free);
    census.part(HeapPart::malloc_live) = mib(live);
    census.allocator = {.name = AllocatorName::glibc, .arenas = 64, .trimmable = mib(malloc_free * 9 / 10)};
    return {.role = {Role::trainer}, .census = census};
}

TEST(ScopeSentence, DescribesFreeMemoryInsteadOfTheAdviceForALeak) {
    TargetSnapshot target;
    target.heap = {heap_of(1, 1000, 600, 400)};
    ScopeVerdict verdict{.judgement = {.verdict = Verdict::leaking, .rise = 5e8}};
    verdict.grower = Grower{.pid = 1, .grown = mib(500)};
    EXPECT_THAT(scope_sentence(target, verdict), HasSubstr("find the objects that the job keeps"));
    verdict.cause = GrowthCause{.kind = Kind::malloc_free, .bytes = mib(500), .share = 1};
    EXPECT_THAT(scope_sentence(target, verdict),
                AllOf(HasSubstr("The floor has risen"), HasSubstr("not a leak of your objects"),
                      Not(HasSubstr("find the objects that the job keeps")), Not(HasSubstr("grew by"))));
}

// Eight equal ranks: four of them have a census.
TEST(ScopeSentence, SaysOfHowManyProcessesThereIsNoCensus) {
    TargetSnapshot target;
    for (pid_t pid = 1; pid <= 8; ++pid) {
        Process process;
        process.task.id = {pid, 1};
        process.task.memory = AddressSpace{.anon = mib(1000)};
        process.role = Role::trainer;
        process.rank = pid - 1;
        target.processes.push_back(process);
    }
    ScopeVerdict verdict{.judgement = {.verdict = Verdict::leaking, .rise = 5e8}};
    const std::string none = scope_sentence(target, verdict);
    EXPECT_THAT(none, Not(HasSubstr("census"))) << "without any census nothing is said about malloc at all";
    for (pid_t pid = 1; pid <= 4; ++pid) {
        target.heap.push_back(heap_of(pid, 1000, 600, 400));
        target.heap.back().role = {Role::trainer, pid - 1};
    }
    EXPECT_THAT(scope_sentence(target, verdict), HasSubstr("Heap censuses were taken of 4 of 8 large processes"));
    verdict.scope = VerdictScope::role;
    verdict.role = RoleKey{Role::trainer, 0};
    EXPECT_THAT(scope_sentence(target, verdict), Not(HasSubstr("census")));
    verdict.role = RoleKey{Role::trainer, 7};
    EXPECT_THAT(scope_sentence(target, verdict), HasSubstr("No heap census was taken here"));
    verdict.judgement.verdict = Verdict::stable;
    EXPECT_THAT(scope_sentence(target, verdict), Not(HasSubstr("census")));
}

}  // namespace scope_sentence_test
}  // namespace memscope
