#pragma once
#include <functional>
#include <string>
#include <sys/types.h>

#include "base/fd.h"

namespace memscope {

class RealCgroup;

// A process that a test controls step by step. It dies with the test.
class Child {
  public:
    // The calls of the child: report that it has reached a step, and wait until the test lets it continue.
    class Script {
      public:
        Script(Fd in, Fd out) : in_(std::move(in)), out_(std::move(out)) {}
        void say(const std::string& word = "ready") const;  // a line
        void wait() const;                                  // waits for go(); ends the process if the test has ended

      private:
        Fd in_;
        Fd out_;
    };

    // Forks; the child enters the cgroup first. When `body` returns, the child exits with 0.
    Child(const RealCgroup& cgroup, const std::function<void(const Script&)>& body);
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    pid_t pid() const { return pid_; }
    std::string heard() const;  // the next line of say()
    void go() const;            // lets the child continue
    int finish();               // lets the child continue and waits for its end; the wait status
    void kill();

  private:
    pid_t pid_ = -1;
    bool reaped_ = false;
    Fd to_;
    Fd from_;
};

// Makes that much memory of the calling process resident, and never gives it back.
char* touch(std::size_t bytes);
// A number of /proc/PID/status ("VmRSS", "Threads"), in the unit of the file.
std::size_t status_number(pid_t pid, const std::string& key);

}  // namespace memscope
