#pragma once
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/fd.h"

namespace memscope {

// Runs programs/landmarks.cpp until this object is destroyed.
class Landmarks {
  public:
    explicit Landmarks(const std::filesystem::path& program) {
        int in[2], out[2];
        if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(in[0], STDIN_FILENO);
            ::dup2(out[1], STDOUT_FILENO);
            ::execl(program.c_str(), program.c_str(), nullptr);
            ::_exit(127);
        }
        ::close(in[0]);
        ::close(out[1]);
        to_ = Fd(in[1]);
        const Fd from(out[0]);
        char line[64] = {};
        if (::read(from.get(), line, sizeof line - 1) <= 0 ||
            std::sscanf(line, "%lx %lx", &landmark, &inside_lighthouse) != 2)
            throw std::runtime_error("landmarks do not run");
    }
    Landmarks(const Landmarks&) = delete;
    Landmarks& operator=(const Landmarks&) = delete;
    ~Landmarks() { finish(); }

    void finish() {
        to_ = Fd();
        if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }
    pid_t pid() const { return pid_; }

    std::uint64_t landmark = 0;           // start of the function
    std::uint64_t inside_lighthouse = 0;  // a return address

  private:
    pid_t pid_ = -1;
    Fd to_;
};

}  // namespace memscope
