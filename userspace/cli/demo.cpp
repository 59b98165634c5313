#include "cli/demo.h"

#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "cli/print.h"
#include "watch/loop.h"
#include "watch/own_cgroup.h"

namespace memscope {
namespace {

constexpr Bytes kLimit{512ULL << 20};
constexpr std::size_t kMebibyte = std::size_t{1} << 20;
constexpr Seconds kLength{50};
constexpr int kSteps = 44;

// The tree. Each process has a name that tells its role, and dies with the one that made it.
void become(const char* name) {
    ::prctl(PR_SET_NAME, name);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void hold(std::vector<std::unique_ptr<char[]>>& held, std::size_t mebibytes) {
    held.push_back(std::make_unique<char[]>(mebibytes * kMebibyte));
    std::memset(held.back().get(), 1, mebibytes * kMebibyte);  // untouched memory is not resident
}

[[noreturn]] void be_worker() {
    become("pt_data_worker");
    std::vector<std::unique_ptr<char[]>> held;
    hold(held, 24);
    for (;;) ::pause();
}

[[noreturn]] void be_trainer() {
    become("demo-trainer");
    for (int i = 0; i < 2; ++i)
        if (::fork() == 0) be_worker();
    std::vector<std::unique_ptr<char[]>> held;
    hold(held, 64);  // the model; after the forks, so that no worker shows it as its own
    for (int step = 0; step < kSteps; ++step) {
        hold(held, 8);  // and never lets go: the leak
        ::sleep(1);
    }
    for (;;) ::pause();
}

[[noreturn]] void be_launcher(OwnCgroup& cgroup) {
    become("demo-launcher");
    if (!cgroup.enter()) ::_exit(1);
    if (::fork() == 0) be_trainer();
    for (;;) ::pause();
}

}  // namespace

Result<int> run_demo(const SysRoot& root, const std::string& scenario) {
    if (scenario != "leak") return plain_error("no demo is called '" + scenario + "'", "there is: leak");
    const auto hierarchy = find_hierarchy(root);
    if (!hierarchy) return hierarchy.error();
    if (::geteuid() != 0) return plain_error("the demo makes a cgroup and watches it", "run it with sudo");
    OwnCgroup::remove_left_behind(*hierarchy, "memscope-demo");
    auto cgroup = OwnCgroup::make(*hierarchy, "memscope-demo", kLimit);
    if (!cgroup) return cgroup.error();

    const auto told = print(
        fmt::format("A launcher, a trainer and two DataLoader workers in a cgroup of {}. The trainer keeps 8 MiB more\n"
                    "every second. Watch which process grows, and how near the limit it gets. Ends after {:.0f} s.\n\n",
                    human_size(kLimit), kLength.count()));
    if (!told) return told.error();
    const pid_t launcher = ::fork();
    if (launcher < 0) return system_error(errno, "fork the demo");
    if (launcher == 0) be_launcher(*cgroup);

    WatchOptions options;
    options.cgroups = {cgroup->name()};
    options.duration = kLength;
    options.listen.reset();
    options.status_every = Seconds{10};
    options.role_rules = {{.role = Role::launcher, .comm = "demo-launcher"},
                          {.role = Role::trainer, .comm = "demo-trainer"}};
    const auto ended = watch(root, options);
    ::kill(launcher, SIGKILL);
    ::waitpid(launcher, nullptr, 0);
    if (const auto* failure = std::get_if<WatchFailure>(&ended)) return failure->error;
    (void)print(
        "\nThat was the trainer: its anonymous memory rose by 8 MiB a second, the others stayed flat.\n"
        "Your own job: sudo memscope --cgroup NAME, then memscope status in another terminal.\n");
    return std::get<int>(ended);
}

}  // namespace memscope
