#include "kernel/plan.h"

#include <gmock/gmock.h>
#include <set>

namespace memscope {
namespace plan_test {

KernelFacts full_facts() {
    KernelFacts facts{.btf = true,
                      .exit_passes_group_dead = true,
                      .task_iterator = true,
                      .loop_helper = true,
                      .task_loop = true,
                      .memory_subsystem = true,
                      .percpu_rss = true,
                      .initial_pid_namespace = true};
    for (const char* name : kTracepoints) facts.tracepoints.insert(name);
    return facts;
}
constexpr Privileges kRoot{.bpf = true, .perfmon = true, .read_all = true};

std::string_view program(const Plan& plan, std::string_view hook) {
    for (const Choice& choice : plan)
        if (choice.hook == hook) return choice.program;
    return "no such hook";
}

TEST(Plan, UnknownFactsCountAsAbsent) {
    for (const Choice& choice : make_plan({})) EXPECT_EQ(choice.program, "") << choice.hook;
}

TEST(Plan, ChoosesProgramsByTheFactsOfTheKernel) {
    KernelFacts facts = full_facts();
    EXPECT_EQ(program(make_plan(facts), "exit"), "tree_exit_group_dead");
    EXPECT_EQ(program(make_plan(facts), "scan"), "tasks_iter_percpu");
    facts.exit_passes_group_dead = false;
    facts.percpu_rss = false;
    EXPECT_EQ(program(make_plan(facts), "exit"), "tree_exit_live_count");
    EXPECT_EQ(program(make_plan(facts), "scan"), "tasks_iter_threads");
    facts.loop_helper = false;
    EXPECT_EQ(program(make_plan(facts), "exit"), "tree_exit_live_count_bounded");
    EXPECT_EQ(program(make_plan(facts), "scan"), "tasks_iter_threads_bounded");
    facts.exit_passes_group_dead.reset();
    facts.percpu_rss.reset();
    EXPECT_EQ(program(make_plan(facts), "exit"), "");
    EXPECT_EQ(program(make_plan(facts), "scan"), "");
}

TEST(Plan, SamplesPagesByOneProgramIfItCanReadTheFaultAddress) {
    KernelFacts facts = full_facts();
    facts.rss_stat_passes_count = false;
    facts.fault_events = true;
    EXPECT_EQ(program_of(make_plan(facts), "growth", "resident"), "growth_count");
    EXPECT_EQ(program_of(make_plan(facts), "growth", "fault"), "growth_fault");
    facts.fault_addresses = true;
    facts.fault_events = false;  // not needed
    EXPECT_EQ(program_of(make_plan(facts), "growth", "resident"), "growth_sample");
    EXPECT_EQ(program_of(make_plan(facts), "growth", "fault"), "growth_sample");
    facts.fault_addresses = false;
    EXPECT_EQ(program_of(make_plan(facts), "growth", "resident"), "growth_net");
    EXPECT_EQ(program_of(make_plan(facts), "growth", "fault"), "");
}

TEST(Plan, TheQuickScanIsOptionalAndAddedToTheSlowOne) {
    KernelFacts facts = full_facts();
    EXPECT_EQ(program_of(make_plan(facts), "tasks", "scan"), "tasks_iter_percpu");
    EXPECT_EQ(program_of(make_plan(facts), "tasks", "quick_scan"), "tasks_procs");
    facts.task_loop = false;
    EXPECT_EQ(program_of(make_plan(facts), "tasks", "scan"), "tasks_iter_percpu");
    EXPECT_EQ(program_of(make_plan(facts), "tasks", "quick_scan"), "");
    EXPECT_FALSE(obstacle(facts, kRoot, make_plan(facts)));
}

TEST(Plan, MeasuresStallsOnlyIfBothTracepointsExist) {
    KernelFacts facts = full_facts();
    EXPECT_EQ(programs_of(make_plan(facts), "reclaim").size(), 4U);
    facts.tracepoints.erase("mm_vmscan_direct_reclaim_end");
    EXPECT_EQ(program_of(make_plan(facts), "reclaim", "direct_begin"), "");
    EXPECT_EQ(program_of(make_plan(facts), "reclaim", "memcg_begin"), "reclaim_memcg_begin");
    EXPECT_FALSE(obstacle(facts, kRoot, make_plan(facts)));
}

TEST(Plan, HasEachHookOnceAndSaysWhatItsAbsenceCosts) {
    std::set<std::pair<std::string_view, std::string_view>> hooks;
    for (const Choice& choice : make_plan({})) {
        EXPECT_TRUE(hooks.emplace(choice.feature, choice.hook).second) << choice.hook;
        EXPECT_NE(choice.without, "");
    }
}

TEST(Obstacle, IsAbsentOnAKernelWithAllFeatures) {
    EXPECT_FALSE(obstacle(full_facts(), kRoot, make_plan(full_facts())));
}

TEST(Obstacle, EachRefusalIsOneLineWithAdvice) {
    const auto said = [](const KernelFacts& facts, const Privileges& privileges) {
        const auto error = obstacle(facts, privileges, make_plan(facts));
        return error ? error->message() : "nothing";
    };
    KernelFacts facts = full_facts();
    EXPECT_THAT(said(facts, {}), testing::HasSubstr("sudo"));
    EXPECT_THAT(said(facts, {.bpf = true}), testing::HasSubstr("CAP_PERFMON"));
    facts.lockdown = "confidentiality";
    EXPECT_THAT(said(facts, kRoot), testing::HasSubstr("lockdown=integrity"));
    facts.lockdown = "integrity";
    EXPECT_EQ(said(facts, kRoot), "nothing");
    facts.initial_pid_namespace = false;
    EXPECT_THAT(said(facts, kRoot), testing::HasSubstr("--pid=host"));
    facts = full_facts();
    facts.tracepoints.erase("sched_process_fork");
    EXPECT_THAT(said(facts, kRoot), testing::HasSubstr("tree fork"));
    EXPECT_THAT(said({}, kRoot), testing::HasSubstr("CONFIG_DEBUG_INFO_BTF"));
}

TEST(Obstacle, AMissingOptionalHookIsNoObstacle) {
    KernelFacts facts = full_facts();
    facts.tracepoints.erase("cgroup_rename");
    facts.tracepoints.erase("cgroup_attach_task");
    EXPECT_FALSE(obstacle(facts, kRoot, make_plan(facts)));
}

}  // namespace plan_test
}  // namespace memscope
