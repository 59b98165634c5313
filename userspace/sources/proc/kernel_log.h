#pragma once
#include <functional>
#include <string_view>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"
#include "model/deaths/last_words.h"

namespace memscope {

// "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b,task=x,
// pid=1,uid=0". Names of cgroups and processes stand in it as they are, commas and all: what they could forge is not
// taken from it. Nothing for any other line.
std::optional<LoggedOomKill> parse_oom_line(std::string_view record);

// The kernel's log from now on. An addition: it is rate-limited, and not everybody may read it.
class KernelLog {
  public:
    static Result<KernelLog> open(const SysRoot& root);  // takes CAP_SYSLOG where dmesg is restricted; reading does not

    void take(const std::function<void(const LoggedOomKill&)>& visit);  // what has come since
    std::uint64_t overrun() const { return overrun_; }                  // times that lines were gone before we came

  private:
    explicit KernelLog(Fd file) : file_(std::move(file)) {}
    Fd file_;
    std::uint64_t overrun_ = 0;
};

}  // namespace memscope
