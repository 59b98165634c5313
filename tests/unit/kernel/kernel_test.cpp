#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>

#include "kernel/capabilities.h"
#include "kernel/features/decode.h"
#include "kernel/plan.h"
#include <memscope/shared/wire.h>

namespace memscope {
namespace kernel_test {

KernelFacts full_facts() {
    KernelFacts facts{.btf = true,
                      .exit_tells_last_thread = true,
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

TEST(Plan, UnknownIsNotYes) {
    for (const Choice& choice : make_plan({})) EXPECT_EQ(choice.program, "") << choice.hook;
}

TEST(Plan, ChoosesByWhatTheKernelHas) {
    KernelFacts facts = full_facts();
    EXPECT_EQ(program(make_plan(facts), "exit"), "tree_exit_group_dead");
    EXPECT_EQ(program(make_plan(facts), "scan"), "tasks_iter_percpu");
    facts.exit_tells_last_thread = false;
    facts.percpu_rss = false;
    EXPECT_EQ(program(make_plan(facts), "exit"), "tree_exit_live_count");
    EXPECT_EQ(program(make_plan(facts), "scan"), "tasks_iter_threads");
    facts.loop_helper = false;
    EXPECT_EQ(program(make_plan(facts), "exit"), "tree_exit_live_count_bounded");
    EXPECT_EQ(program(make_plan(facts), "scan"), "tasks_iter_threads_bounded");
    facts.exit_tells_last_thread.reset();
    facts.percpu_rss.reset();
    EXPECT_EQ(program(make_plan(facts), "exit"), "");
    EXPECT_EQ(program(make_plan(facts), "scan"), "");
}

TEST(Plan, PagesAreSampledByOneProgramWhereItFindsTheAddressAndByEventsElsewhere) {
    KernelFacts facts = full_facts();
    facts.rss_tells_count = false;
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

TEST(Plan, TheQuickScanComesOnTopOfTheSlowOneAndIsNotNeeded) {
    KernelFacts facts = full_facts();
    EXPECT_EQ(program_of(make_plan(facts), "tasks", "scan"), "tasks_iter_percpu");
    EXPECT_EQ(program_of(make_plan(facts), "tasks", "quick_scan"), "tasks_procs");
    facts.task_loop = false;
    EXPECT_EQ(program_of(make_plan(facts), "tasks", "scan"), "tasks_iter_percpu");
    EXPECT_EQ(program_of(make_plan(facts), "tasks", "quick_scan"), "");
    EXPECT_FALSE(obstacle(facts, kRoot, make_plan(facts)));
}

TEST(Plan, AStallHasABeginningAndAnEndOrIsNotMeasured) {
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

TEST(Obstacle, NoneOnAKernelThatHasAll) { EXPECT_FALSE(obstacle(full_facts(), kRoot, make_plan(full_facts()))); }

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

TEST(Obstacle, AnOptionalHookIsNone) {
    KernelFacts facts = full_facts();
    facts.tracepoints.erase("cgroup_rename");
    facts.tracepoints.erase("cgroup_attach_task");
    EXPECT_FALSE(obstacle(facts, kRoot, make_plan(facts)));
}

TEST(Capabilities, AreReadByTheNameOfTheirSet) {
    constexpr std::string_view kStatus = "CapPrm:\t000000c000080004\nCapEff:\t0000000000000004\nCapBndX:\tff\n";
    EXPECT_TRUE(parse_capabilities(kStatus, "CapPrm").has(CAP_BPF));
    EXPECT_EQ(parse_capabilities(kStatus, "CapEff"), CapabilitySet{}.with(CAP_DAC_READ_SEARCH));
    EXPECT_EQ(parse_capabilities(kStatus, "CapBnd"), CapabilitySet{});
}

TEST(Privileges, AreReadFromTheEffectiveSet) {
    EXPECT_FALSE(parse_privileges("Name:\tx\nCapEff:\t0000000000000000\n").bpf);
    EXPECT_FALSE(parse_privileges("").bpf);
    EXPECT_FALSE(parse_privileges("CapEff:\tzzz\n").perfmon);
    EXPECT_TRUE(parse_privileges("CapEff:\t000001ffffffffff\n").perfmon);
    const auto two = parse_privileges("CapPrm:\t0000000000000000\nCapEff:\t000000c000000000\n");  // 38 and 39
    EXPECT_TRUE(two.bpf && two.perfmon);
    EXPECT_FALSE(two.read_all);
    EXPECT_TRUE(parse_privileges("CapEff:\t0000000000200000\n").bpf);  // CAP_SYS_ADMIN includes both
}

template <class Record>
std::span<const std::byte> bytes_of(const Record& record) {
    return std::as_bytes(std::span(&record, 1));
}

ms_header header(ms_event_kind kind, std::size_t size) {
    return {.time_ns = 7,
            .start_ns = 5,
            .target = 3,
            .pid = 42,
            .kind = static_cast<__u16>(kind),
            .size = static_cast<__u16>(size)};
}

TEST(Decode, AForkKeepsEveryField) {
    ms_placed record{.h = header(MS_EVENT_FORK, sizeof(ms_placed)), .parent = 41, .pad = 0, .comm = "pt_data_worker"};
    const auto event = decode_tree_event(bytes_of(record), 4096);
    ASSERT_TRUE(event);
    const auto& fork = std::get<Forked>(*event);
    EXPECT_EQ(fork.time_ns, 7U);
    EXPECT_EQ(fork.id, (ProcessId{42, 5}));
    EXPECT_EQ(fork.parent, 41);
    EXPECT_EQ(fork.target, CgroupId{3});
    EXPECT_EQ(fork.comm, "pt_data_worker");
}

TEST(Decode, ANameWithoutEndIsBounded) {
    ms_placed record{.h = header(MS_EVENT_MOVE, sizeof(ms_placed)), .parent = 1, .pad = 0, .comm = {}};
    std::memset(record.comm, 0xFF, sizeof record.comm);
    const auto event = decode_tree_event(bytes_of(record), 4096);
    ASSERT_TRUE(event);
    EXPECT_EQ(std::get<Moved>(*event).comm, std::string(16, '\xFF'));
}

TEST(Decode, ArgumentsAreSplitAndNeverReadBeyondTheRecord) {
    ms_exec record{
        .h = header(MS_EVENT_EXEC, sizeof(ms_exec)), .comm = "python3", .argv_bytes = 19, .pad = 0, .argv = {}};
    std::memcpy(record.argv, "python3\0train.py\0-x", 19);
    auto event = decode_tree_event(bytes_of(record), 4096);
    ASSERT_TRUE(event);
    EXPECT_THAT(std::get<Execed>(*event).argv, testing::ElementsAre("python3", "train.py", "-x"));
    record.argv_bytes = 0xFFFFFFFF;
    std::memset(record.argv, 'a', sizeof record.argv);
    event = decode_tree_event(bytes_of(record), 4096);
    ASSERT_TRUE(event);
    EXPECT_THAT(std::get<Execed>(*event).argv, testing::ElementsAre(std::string(MS_ARGV_BYTES, 'a')));
}

TEST(Decode, AnExitKeepsFaultsAndCode) {
    const ms_exit record{.h = header(MS_EVENT_EXIT, sizeof(ms_exit)),
                         .comm = "x",
                         .minor_faults = 10,
                         .major_faults = 2,
                         .exit_code = 9,
                         .flags = MS_TASK_FORKED_WITHOUT_EXEC,
                         .mappings = {}};
    const auto event = decode_tree_event(bytes_of(record), 4096);
    ASSERT_TRUE(event);
    const auto& exit = std::get<Exited>(*event);
    EXPECT_EQ(exit.faults, (Faults{10, 2}));
    EXPECT_EQ(exit.exit_code, 9);
    EXPECT_TRUE(exit.forked_without_exec);
}

TEST(Decode, RefusesWhatIsTooShortUnknownOrLies) {
    const ms_exit record{.h = header(MS_EVENT_EXIT, sizeof(ms_exit)),
                         .comm = {},
                         .minor_faults = 0,
                         .major_faults = 0,
                         .exit_code = 0,
                         .flags = 0,
                         .mappings = {}};
    for (std::size_t size = 0; size < sizeof record; ++size)
        EXPECT_FALSE(decode_tree_event(bytes_of(record).first(size), 4096)) << size;
    ms_header unknown = header(MS_EVENT_FORK, sizeof(ms_header));
    EXPECT_FALSE(decode_tree_event(bytes_of(unknown), 4096));  // a fork without its body
    unknown.kind = 99;
    EXPECT_FALSE(decode_tree_event(bytes_of(unknown), 4096));
    unknown.kind = MS_EVENT_CGROUPS_CHANGED;
    EXPECT_TRUE(decode_tree_event(bytes_of(unknown), 4096));
    unknown.size = 60000;
    EXPECT_FALSE(decode_tree_event(bytes_of(unknown), 4096));
}

TEST(Decode, TasksAreSizedByThePageAndVforkChildrenHaveNoMemory) {
    ms_task rows[2]{};
    rows[0].pid = 1;
    rows[0].flags = MS_TASK_OWNS_MEMORY;
    rows[0].anon_pages = 3;
    rows[0].file_pages = -2;  // read while it changed
    rows[0].virtual_pages = 100;
    rows[1].pid = 2;
    rows[1].anon_pages = 3;
    DecodedScan scan;
    const auto& tasks = scan.tasks;
    ASSERT_TRUE(decode_tasks(std::as_bytes(std::span(rows)), 65536, scan));
    ASSERT_EQ(tasks.size(), 2U);
    EXPECT_EQ(tasks[0].task.memory->anon, Bytes{3 * 65536});
    EXPECT_EQ(tasks[0].task.memory->file, Bytes{0});
    EXPECT_EQ(tasks[0].task.memory->virtual_size, Bytes{100 * 65536});
    EXPECT_FALSE(tasks[1].task.memory);
    EXPECT_FALSE(decode_tasks(std::as_bytes(std::span(rows)).first(200), 4096, scan));
}

TEST(Decode, ARowWhoseThreadsWereNotVisitedSaysSo) {
    ms_task rows[2]{};
    rows[1].flags = MS_TASK_FAULTS_PARTIAL;
    DecodedScan scan;
    const auto& tasks = scan.tasks;
    ASSERT_TRUE(decode_tasks(std::as_bytes(std::span(rows)), 4096, scan));
    EXPECT_FALSE(tasks[0].task.faults_partial);
    EXPECT_TRUE(tasks[1].task.faults_partial);
}

ms_task row_with_mappings(pid_t pid, __u64 pages) {
    ms_task row{};
    row.pid = static_cast<__u32>(pid);
    row.flags = MS_TASK_HAS_MAPPINGS;
    row.mappings.mapped[MS_MAPPED_MMAP] = pages;
    row.mappings_activity = pages;
    return row;
}

TEST(Decode, MappingsAreThoseOfTheRowWhateverTheScanBeforeHadInItsPlace) {
    DecodedScan scan;
    const auto& tasks = scan.tasks;
    const auto mapped = [&](const std::vector<ms_task>& rows) {
        EXPECT_TRUE(decode_tasks(std::as_bytes(std::span(rows)), 4096, scan));
        std::vector<std::uint64_t> pages;
        for (const ScannedTask& scanned : tasks)
            pages.push_back(scanned.mappings ? scanned.mappings->mapped[MS_MAPPED_MMAP].n / 4096 : 0);
        return pages;
    };
    EXPECT_THAT(mapped({row_with_mappings(1, 5), row_with_mappings(2, 7)}), testing::ElementsAre(5, 7));
    EXPECT_THAT(mapped({row_with_mappings(1, 6), row_with_mappings(2, 7)}), testing::ElementsAre(6, 7));
    EXPECT_THAT(mapped({row_with_mappings(2, 7), row_with_mappings(1, 6)}), testing::ElementsAre(7, 6));
    ms_task without = row_with_mappings(2, 7);
    without.flags = 0;
    EXPECT_THAT(mapped({without}), testing::ElementsAre(0));
    EXPECT_THAT(mapped({row_with_mappings(2, 7)}), testing::ElementsAre(7));
}

}  // namespace kernel_test
}  // namespace memscope
