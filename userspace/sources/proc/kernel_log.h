#pragma once
#include <functional>
#include <string_view>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"
#include "model/deaths/death_evidence.h"

namespace memscope {

// "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b,task=x,
// pid=1,uid=0". The kernel does not escape the names of cgroups and processes, not even commas, so fields that such a
// name could forge are not read. None for any other line.
std::optional<LoggedOomKill> parse_oom_line(std::string_view record);

// Reads the kernel log from now on. memscope must work without it, because the log is rate-limited and needs
// privileges.
class KernelLog {
  public:
    // Needs CAP_SYSLOG if dmesg is restricted. Later reads do not need it.
    static Result<KernelLog> open(const SysRoot& root);

    void take(const std::function<void(const LoggedOomKill&)>& visit);  // OOM kills since the last call
    std::uint64_t overrun() const { return overrun_; }  // how often the log overwrote lines before they were read

  private:
    explicit KernelLog(Fd file) : file_(std::move(file)) {}
    Fd file_;
    std::uint64_t overrun_ = 0;
};

}  // namespace memscope
