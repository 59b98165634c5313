#include "support/child.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/real_cgroup.h"

namespace memscope {
namespace {

std::pair<Fd, Fd> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    return {Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

void Child::Script::say(const std::string& word) const {
    const std::string line = word + "\n";
    if (::write(out_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(9);
}

void Child::Script::wait() const {
    char byte = 0;
    if (::read(in_.get(), &byte, 1) != 1) ::_exit(9);
}

Child::Child(const RealCgroup& cgroup, const std::function<void(const Script&)>& body) {
    auto [child_in, to] = make_pipe();
    auto [from, child_out] = make_pipe();
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork");
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        to = Fd();
        from = Fd();
        cgroup.enter();
        body(Script(std::move(child_in), std::move(child_out)));
        ::_exit(0);
    }
    to_ = std::move(to);
    from_ = std::move(from);
}

Child::~Child() { kill(); }

std::string Child::heard() const {
    std::string line;
    for (char byte = 0; ::read(from_.get(), &byte, 1) == 1;) {
        if (byte == '\n') return line;
        line += byte;
    }
    throw std::runtime_error("the child ended after '" + line + "'");
}

void Child::go() const {
    if (::write(to_.get(), "g", 1) != 1) throw std::runtime_error("the child is gone");
}

int Child::finish() {
    go();
    int status = 0;
    ::waitpid(pid_, &status, 0);
    reaped_ = true;
    return status;
}

void Child::kill() {
    if (reaped_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    reaped_ = true;
}

char* touch(std::size_t bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap");
    ::madvise(memory, bytes, MADV_NOHUGEPAGE);  // a fault per page, so that faults can be counted
    std::memset(memory, 1, bytes);
    return static_cast<char*>(memory);
}

std::size_t status_number(pid_t pid, const std::string& key) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1));
    throw std::runtime_error("no " + key + " of " + std::to_string(pid));
}

}  // namespace memscope
