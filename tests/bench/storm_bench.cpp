// The cost of the hooks for processes that run through them: many page faults and system calls, outside the watched
// tree and inside. Compared with an empty program on the same hooks, which is the least that any tool on them costs.
#include <algorithm>
#include <array>
#include <fmt/ranges.h>
#include <set>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "bench/bench.h"
#include "bench/empty_programs.h"
#include "bench/program.h"
#include "support/child.h"
#include "support/real_cgroup.h"

namespace memscope {
namespace {

void call_getpid(int count) {
    for (int i = 0; i < count; ++i) ::syscall(SYS_getpid);
}

void map_and_unmap(int count) {
    constexpr std::size_t kBytes = 128 * 1024;
    for (int i = 0; i < count; ++i) {
        void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED || ::munmap(memory, kBytes) != 0) ::_exit(1);
    }
}

// The pages are faulted in one by one and unmapped together.
void fault(int count) {
    constexpr std::size_t kPages = 1024, kPage = 4096;
    static char* const memory = touch(kPages * kPage);
    for (int done = 0; done < count; done += kPages) {
        ::madvise(memory, kPages * kPage, MADV_DONTNEED);
        for (std::size_t at = 0; at < kPages * kPage; at += kPage) const_cast<volatile char*>(memory)[at] = 1;
    }
}

struct Storm {
    const char* name;
    void (*run)(int count);
    int count;
};
constexpr Storm kStorms[] = {
    {"getpid()", call_getpid, 400'000}, {"mmap() + munmap()", map_and_unmap, 30'000}, {"page fault", fault, 40'960}};

// Runs every storm on a command, and reports the cost of each: ns of CPU time per operation.
class Stormer {
  public:
    explicit Stormer(const RealCgroup& cgroup) : child_(cgroup, body) {}
    std::vector<double> storm() const {
        child_.go();
        std::vector<double> ns;
        for (std::size_t i = 0; i < std::size(kStorms); ++i) ns.push_back(std::stod(child_.heard()));
        return ns;
    }

  private:
    static void body(const Child::Script& script) {
        for (;;) {
            script.wait();
            for (const Storm& storm : kStorms)
                script.say(std::to_string(cpu_of([&] { storm.run(storm.count); }) * 1e6 / storm.count));
        }
    }
    Child child_;
};

using Rounds = std::vector<std::vector<double>>;  // by round, then by storm

double typical(const Rounds& rounds, std::size_t storm) {
    std::vector<double> values;
    for (const auto& round : rounds) values.push_back(round[storm]);
    return median(values);
}

// The ratio of each round to the unwatched storm of the same round.
std::string ratio(const Rounds& rounds, const Rounds& alone, std::size_t storm) {
    if (rounds.empty()) return "no such option";
    std::vector<double> ratios;
    for (std::size_t i = 0; i < rounds.size(); ++i) ratios.push_back(rounds[i][storm] / alone[i][storm]);
    return fmt::format("{:.0f} ns, {:.2f}", typical(rounds, storm), median(ratios));
}

struct Place {
    const char* name;
    Stormer stormer;
    Rounds alone{}, watched{}, without_maps{}, empty{};
};

class Storms {
  public:
    void run(int rounds) {
        for (Place* place : places()) place->stormer.storm();
        for (int i = 0; i < rounds; ++i) {
            note(&Place::alone);
            {
                Watcher watcher(job_.name());
                if (!watcher.watches()) throw std::runtime_error("memscope does not watch");
                hooks_ = hooks_of(watcher.program().pid());
                note(&Place::watched);
            }
            if (has_no_maps_) {
                Watcher watcher(job_.name(), {"--no-maps"});
                has_no_maps_ = watcher.watches();
                if (has_no_maps_)
                    note(&Place::without_maps);
                else if (watcher.exit_status() != 2)
                    throw std::runtime_error("memscope --no-maps does not watch");
            }
            const EmptyPrograms programs(hooks_);
            note(&Place::empty);
        }
        if (hooks_.empty()) throw std::runtime_error("memscope is attached to no hook");
    }

    void report() {
        fmt::print("memscope's hooks: {}\n", fmt::join(hooks_, ", "));
        if (!has_no_maps_) fmt::print("This build has no --no-maps.\n");
        fmt::print("\n| | alone | memscope | memscope --no-maps | empty programs on its hooks |\n");
        fmt::print("| --- | --- | --- | --- | --- |\n");
        for (const Place* place : places())
            for (std::size_t storm = 0; storm < std::size(kStorms); ++storm)
                fmt::print("| {}, {} the tree | {:.0f} ns | {} | {} | {} |\n", kStorms[storm].name, place->name,
                           typical(place->alone, storm), ratio(place->watched, place->alone, storm),
                           ratio(place->without_maps, place->alone, storm), ratio(place->empty, place->alone, storm));
    }

  private:
    std::array<Place*, 2> places() { return {&outside_, &inside_}; }
    void note(Rounds Place::* rounds) {
        for (Place* place : places()) (place->*rounds).push_back(place->stormer.storm());
    }

    RealCgroup job_{"watched"};
    RealCgroup elsewhere_{"elsewhere"};
    Place outside_{"outside", Stormer(elsewhere_)};
    Place inside_{"inside", Stormer(job_)};
    std::set<std::string> hooks_;
    bool has_no_maps_ = true;
};

void measure_all() {
    fmt::print("CPU time of one operation in a storm of them, and its ratio to the same alone\n");
    Storms storms;
    storms.run(11);
    storms.report();
}

}  // namespace
}  // namespace memscope

int main() { return memscope::report_of(memscope::measure_all); }
