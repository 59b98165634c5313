#include "watch/self/least_privilege.h"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/in_a_process.h"
#include "kernel/watched.h"

namespace memscope {
namespace least_privilege_test {

TEST(LeastPrivilege, KeepsOnlyTheNeededCapabilities) {
    EXPECT_EQ(in_a_process([]() -> std::string {
                  const CapabilitySet needed = needed_capabilities({}, own("CapPrm"));
                  if (own("CapEff") == needed) return "had no more than it needs; run it as root";
                  if (auto dropped = drop_privileges(SysRoot{}, {}); !dropped) return dropped.error().message();
                  for (const char* set : {"CapPrm", "CapEff", "CapBnd"})
                      if (own(set) != needed) return std::string(set) + " is not what is needed";
                  for (const char* set : {"CapInh", "CapAmb"})
                      if (own(set) != CapabilitySet{}) return std::string(set) + " is not empty";
                  if (::setuid(12345) == 0) return "may still become somebody else";
                  return "";
              }),
              "");
}

TEST(LeastPrivilege, ATickReadsTheSameAfterDroppingPrivileges) {
    const RealCgroup cgroup("privilege");
    Child other(cgroup, [](const Child::Script& script) {
        ::setenv("RANK", "5", 1);
        if (::setgid(65533) != 0 || ::setuid(65533) != 0) ::_exit(1);
        // Calls exec, because /proc/PID/environ shows the environment at the start of the program.
        script.say();
        ::execl("/bin/sleep", "sleep", "60", nullptr);
        ::_exit(1);
    });
    ASSERT_EQ(other.heard(), "ready");
    const std::string comm = "/proc/" + std::to_string(other.pid()) + "/comm";
    for (int i = 0; i < 1000 && *read_file(comm) != "sleep\n"; ++i) ::usleep(1000);
    EXPECT_EQ(in_a_process([&]() -> std::string {
                  Watched watched({cgroup.name()});
                  if (auto dropped = drop_privileges(SysRoot{}, {}); !dropped) return dropped.error().message();
                  const TargetSnapshot& target = watched.tick(cgroup);
                  const Process* process = Watched::process(target, other.pid());
                  if (!process) return "the process is not there";
                  if (process->rank != 5) return "no rank: its environment cannot be read";
                  if (!target.shm) return "no /dev/shm: its root cannot be entered";
                  if (target.memory.usage.n == 0) return "no memory: the cgroup cannot be read";
                  // Events still arrive, and another scan still runs.
                  const pid_t late = ::fork();
                  if (late == 0) {
                      cgroup.enter();
                      ::sleep(60);
                      ::_exit(0);
                  }
                  ::usleep(200'000);
                  const bool seen = Watched::process(watched.tick(cgroup), late) != nullptr;
                  ::kill(late, SIGKILL);
                  ::waitpid(late, nullptr, 0);
                  return seen ? "" : "what starts later is not seen";
              }),
              "");
    ::kill(other.pid(), SIGKILL);
}

}  // namespace least_privilege_test
}  // namespace memscope
