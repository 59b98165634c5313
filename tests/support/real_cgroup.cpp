#include "support/real_cgroup.h"

#include <csignal>
#include <fstream>
#include <stdexcept>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace memscope {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& file, const std::string& text) {
    std::ofstream out(file);
    out << text << std::flush;
    if (!out) throw std::runtime_error("cannot write " + text + " to " + file.string());
}

void make(const fs::path& path) {
    if (::mkdir(path.c_str(), 0755) != 0)
        throw std::runtime_error("cannot make " + path.string() +
                                 ": a kernel test needs root and the memory controller");
}

}  // namespace

bool RealCgroup::v2() { return fs::exists("/sys/fs/cgroup/cgroup.controllers"); }
fs::path RealCgroup::mount() { return v2() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory"; }

std::string RealCgroup::name_of(const std::string& name) {
    return "ms-test-" + name + "-" + std::to_string(::getpid());
}

RealCgroup::RealCgroup(const std::string& name) : name_(name_of(name)) {
    if (v2()) std::ofstream(mount() / "cgroup.subtree_control") << "+memory";
    make(path());
}

RealCgroup::RealCgroup(const RealCgroup& parent, const std::string& name) : name_(parent.name() + "/" + name) {
    if (v2()) write(parent.path() / "cgroup.subtree_control", "+memory");
    make(path());
}

void RealCgroup::limit(std::size_t bytes) const {
    write(path() / (v2() ? "memory.max" : "memory.limit_in_bytes"), std::to_string(bytes));
    std::ofstream(path() / (v2() ? "memory.swap.max" : "memory.memsw.limit_in_bytes")) << (v2() ? 0 : bytes);
}

void RealCgroup::write(const std::string& file, const std::string& text) const { memscope::write(path() / file, text); }

std::uint64_t RealCgroup::stat(const std::string& key) const {
    std::ifstream stat(path() / "memory.stat");
    std::string name;
    for (std::uint64_t value = 0; stat >> name >> value;)
        if (name == key) return value;
    throw std::runtime_error(name_ + " has no " + key + " in memory.stat");
}

void RealCgroup::enter() const { write(path() / "cgroup.procs", "0"); }
void RealCgroup::enter(int pid) const { write(path() / "cgroup.procs", std::to_string(pid)); }

void RealCgroup::remove() {
    for (int i = 0; i < 200 && fs::exists(path()); ++i) {
        std::ifstream members(path() / "cgroup.procs");
        for (int pid = 0; members >> pid;)
            if (pid > 1) ::kill(pid, SIGKILL);
        if (::rmdir(path().c_str()) == 0) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

}  // namespace memscope
