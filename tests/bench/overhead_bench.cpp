// The cost of memscope for watched processes, compared with an empty program on the same hooks (the least cost of any
// tool there) and with other tools that show where memory comes from: CPU time of the same work, in turns within one
// run.
//   bench_overhead [ROUNDS [MORE_ROUNDS [OTHER]]]
// MORE_ROUNDS: additional rounds for the tools whose ratios have a goal. OTHER: another version of memscope, compared
// in all rounds.
#include <array>
#include <fmt/ranges.h>

#include "bench/bench.h"
#include "bench/hook_cost.h"
#include "bench/tools.h"
#include "bench/workload.h"

namespace memscope {
namespace {

constexpr int kRounds = 9;
constexpr int kGoalRounds = 18;      // more rounds for tools whose ratios are near their goals: one round is off by 3 %
constexpr std::size_t kOfGoals = 4;  // the first tools, and after them another version of memscope
constexpr int kSamples = 5;          // the smallest one counts, because other programs on the machine only add time

struct Kind {
    const char* name;
    const char* shown;
    std::vector<std::string> command;
};
const std::array<Kind, 4> kKinds = {
    Kind{"storm", "page faults", {FAULT_STORM}},
    Kind{"python", "page faults below 23 Python frames", {"python3", WORKLOADS "/python_storm.py"}},
    Kind{"allocating", "tree that only allocates", {"python3", WORKLOADS "/training_tree.py", "--only-allocate"}},
    Kind{"tree", "training tree", {"python3", WORKLOADS "/training_tree.py"}}};
using Set = std::array<std::unique_ptr<Workload>, kKinds.size()>;

Set started(const RealCgroup& job, const std::function<std::vector<std::string>(const Kind&)>& runner) {
    Set set;
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
        std::vector<std::string> command = runner(kKinds[i]);
        command.insert(command.end(), kKinds[i].command.begin(), kKinds[i].command.end());
        set[i] = std::make_unique<Workload>(job, kKinds[i].name, std::move(command));
        set[i]->round_ms();
    }
    return set;
}

// By kind of work. All members except `ms` are only for tools that run as a process of their own.
struct Column {
    std::array<std::vector<double>, kKinds.size()> ms{};  // by round
    double own_ms = 0, work_ms = 0;
    std::string failure{};
};

double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values.at(static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5));
}

std::string ratio(const Column& column, const Column& to, std::size_t kind) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < column.ms[kind].size() && i < to.ms[kind].size(); ++i)
        ratios.push_back(column.ms[kind][i] / to.ms[kind][i]);
    if (ratios.empty()) return "cannot run";
    return fmt::format("{:.3f} ({:.3f} to {:.3f})", quantile(ratios, 0.5), quantile(ratios, 0.25),
                       quantile(ratios, 0.75));
}

std::string first_line(const std::string& text) {
    std::string line = text.substr(0, std::min(text.find('\n'), std::size_t{200}));
    return line.empty() ? "it says nothing" : line;
}

std::string load_average() {
    const std::string text = text_of("/proc/loadavg");
    return text.substr(0, text.find(' '));
}

class Overhead {
  public:
    explicit Overhead(const std::string& other)
        : goals_(other.empty() ? kOfGoals : kOfGoals + 1),
          work_(started(job_, [](const Kind&) { return std::vector<std::string>(); })) {
        look_at_memscope();
        add("nothing", [] { return std::make_unique<Tool>(); });
        add("empty program on rss_stat", [] { return std::make_unique<EmptyTool>(std::set<std::string>{"rss_stat"}); });
        add("empty programs on all hooks of memscope", [this] { return std::make_unique<EmptyTool>(hooks_); });
        add("memscope", [this] { return std::make_unique<MemscopeTool>(job_.name()); });
        if (!other.empty())
            add(other, [this, other] {
                return std::make_unique<MemscopeTool>(job_.name(), std::vector<std::string>{}, other);
            });
        add("memscope --no-maps",
            [this] { return std::make_unique<MemscopeTool>(job_.name(), std::vector<std::string>{"--no-maps"}); });
        add("perf record -e page-faults -g",
            [this] { return std::make_unique<PerfTool>(scratch_, pids(), std::vector<std::string>{}); });
        add("perf record -e page-faults -c 1 -g",
            [this] { return std::make_unique<PerfTool>(scratch_, pids(), std::vector<std::string>{"-c", "1"}); });
        add("bpftrace 'software:page-faults:1 { @[ustack] = count(); }'",
            [this] { return std::make_unique<BpftraceTool>(scratch_); });
        start_heaptrack();
    }

    void run(int rounds, int goal_rounds) {
        for (int round = 0; round < rounds; ++round) {
            for (std::size_t i = 0; i < tools_.size(); ++i)
                measure(tools_[(i + static_cast<std::size_t>(round)) % tools_.size()]);
            if (heaptrack_.failure.empty()) measure(heaptracked_, heaptrack_);
        }
        for (int round = 0; round < goal_rounds; ++round)
            for (std::size_t i = 0; i < goals_; ++i) measure(tools_[(i + static_cast<std::size_t>(round)) % goals_]);
        // heaptrack sees only malloc(), which the storms hardly use: its file may be empty for them.
        if (rounds > 0 && heaptrack_.failure.empty() && !scratch_.has(kKinds.back().name))
            heaptrack_ = {.failure = "it has recorded nothing"};
    }

    void report() const {
        fmt::print("memscope's hooks: {}\n\n", fmt::join(hooks_, ", "));
        fmt::print("The median of the ratios of rounds, and its quartiles\n\n");
        print_table("CPU time of the same work, by that without any tool", tools_.front().column, true);
        print_goals();
        for (const Entry& entry : tools_) print_failure(entry.name, entry.column);
        print_failure("heaptrack", heaptrack_);
    }

    void report_hook() {
        HookCost hook(job_);
        fmt::print(
            "\n| measured by the hook itself | attributions per CPU second | one attribution | share of the CPU time "
            "|\n");
        fmt::print("| --- | --- | --- | --- |\n");
        for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
            hook.of(*work_[kind]);  // the first round has new stacks
            std::vector<double> rates, each, shares;
            for (int i = 0; i < kRounds; ++i) {
                const HookCost::Sample sample = hook.of(*work_[kind]);
                if (sample.samples == 0) throw std::runtime_error("the growth hook has attributed nothing");
                rates.push_back(sample.samples / sample.cpu_ms * 1e3);
                each.push_back(sample.ns / sample.samples);
                shares.push_back(sample.ns * 1e-4 / sample.cpu_ms);
            }
            fmt::print("| {} | {:.0f} | {:.0f} ns | {:.2f} % |\n", kKinds[kind].shown, median(rates), median(each),
                       median(shares));
        }
        fmt::print("\nThe deepest stack had {} Python frames.\n", hook.python_frames());
    }

  private:
    struct Entry {
        std::string name;
        std::function<std::unique_ptr<Tool>()> start;
        Column column{};
    };

    void add(const std::string& name, std::function<std::unique_ptr<Tool>()> start) {
        tools_.push_back({name, std::move(start)});
    }

    // report_hook() checks that memscope samples the growth. After a round no sampled page exists any more, so the
    // report of growth cannot show it.
    void look_at_memscope() {
        MemscopeTool memscope(job_.name());
        hooks_ = memscope.hooks();
        if (!hooks_.contains("rss_stat")) throw std::runtime_error("memscope is not attached to the growth hook");
    }

    void start_heaptrack() {
        try {
            heaptracked_ = started(heaptracked_job_, [this](const Kind& kind) -> std::vector<std::string> {
                return {"/usr/bin/heaptrack", "-o", scratch_ / kind.name};
            });
        } catch (const std::exception& failure) {
            heaptrack_.failure = first_line(failure.what());
        }
    }

    std::vector<pid_t> pids() const {
        std::vector<pid_t> all;
        for (const auto& workload : work_)
            for (const pid_t pid : workload->pids()) all.push_back(pid);
        return all;
    }

    static void measure(const Set& set, Column& column) {
        for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
            set[kind]->round_ms();  // a warm-up round: the first contact with a workload costs more than later rounds
            std::vector<double> samples;
            for (int i = 0; i < kSamples; ++i) samples.push_back(set[kind]->round_ms());
            column.ms[kind].push_back(*std::min_element(samples.begin(), samples.end()));
            for (const double ms : samples) column.work_ms += ms;
        }
    }

    void measure(Entry& entry) {
        if (!entry.column.failure.empty()) return;
        try {
            const auto tool = entry.start();
            const double before = tool->cpu_ms();
            measure(work_, entry.column);
            entry.column.own_ms += tool->cpu_ms() - before;
            tool->check();
        } catch (const std::exception& failure) {
            entry.column = {.failure = first_line(failure.what())};
        }
    }

    void print_row(const std::string& name, const Column& column, const Column& to, bool own) const {
        if (column.ms.front().empty() && column.failure.empty()) return;  // not selected
        fmt::print("| {} |", name);
        for (std::size_t kind = 0; kind < kKinds.size(); ++kind) fmt::print(" {} |", ratio(column, to, kind));
        if (own)
            fmt::print(" {} |", column.own_ms > 0 ? fmt::format("{:.1f} %", column.own_ms / column.work_ms * 100) : "");
        fmt::print("\n");
    }

    void print_head(const char* what, bool own) const {
        fmt::print("| {} |", what);
        for (const Kind& kind : kKinds) fmt::print(" {} |", kind.shown);
        fmt::print("{}\n| --- | --- | --- | --- | --- |{}\n", own ? " the tool itself |" : "", own ? " --- |" : "");
    }

    void print_table(const char* what, const Column& to, bool own) const {
        print_head(what, own);
        for (const Entry& entry : tools_) print_row(entry.name, entry.column, to, own);
        print_row("heaptrack", heaptrack_, to, own);
    }

    void print_goals() const {
        fmt::print("\n");
        print_head("", false);
        print_row("memscope / empty program on rss_stat", tools_[3].column, tools_[1].column, false);
        print_row("memscope / empty programs on its hooks", tools_[3].column, tools_[2].column, false);
        print_row("memscope --no-maps / empty program on rss_stat", tools_[goals_].column, tools_[1].column, false);
        if (goals_ > kOfGoals) print_row("memscope / the other one", tools_[3].column, tools_[kOfGoals].column, false);
    }

    static void print_failure(const std::string& name, const Column& column) {
        if (!column.failure.empty()) fmt::print("\n{} cannot run: {}\n", name, column.failure);
    }

    std::size_t goals_;
    Scratch scratch_;
    RealCgroup job_{"overhead"};
    RealCgroup heaptracked_job_{"heaptracked"};
    Set work_, heaptracked_;
    std::set<std::string> hooks_;
    std::vector<Entry> tools_;
    Column heaptrack_;
};

void measure_all(int rounds, int goal_rounds, const std::string& other) {
    fmt::print("Load average at the beginning: {}\n", load_average());
    Overhead overhead(other);
    overhead.run(rounds, goal_rounds);
    overhead.report();
    overhead.report_hook();
    fmt::print("\nLoad average at the end: {}\n", load_average());
}

}  // namespace
}  // namespace memscope

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : memscope::kRounds;
    const int goal_rounds = argc > 2 ? std::atoi(argv[2]) : memscope::kGoalRounds;
    const std::string other = argc > 3 ? argv[3] : "";
    return memscope::report_of([&] { memscope::measure_all(rounds, goal_rounds, other); });
}
