#pragma once
#include <map>

#include "base/fd.h"
#include "base/files.h"
#include "kernel/features/growth_stacks.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {

// Finds out which processes run Python and tells the kernel where its parts are. An interpreter initialises itself a
// while after its program was executed, so a process is looked at again and again for a few seconds.
class PythonWatch {
  public:
    PythonWatch(std::shared_ptr<ReadHelpers> reads, GrowthStacks& stacks, bool on);

    void look_at(const ProcessId& process);  // now, and again if it may yet become one
    void look_again();                       // at those that wait
    void forget(pid_t process) { waiting_.erase(process); }
    int retry_fd() const { return timer_.get(); }  // readable when it is time to look again

  private:
    struct Waiting {
        ProcessId process{};
        std::uint64_t until_ns = 0;  // boot clock
        std::uint64_t number = 0;    // of the look that is under way
        bool answered = false;       // a look has ended: from then on there is an end to the waiting
        bool not_read = false;       // the last look could not read it: the next tick looks again
    };

    bool is_over(Waiting& waiting, std::uint64_t now_ns);
    void arm(bool on);

    std::shared_ptr<ReadHelpers> reads_;
    GrowthStacks& stacks_;
    bool on_;
    std::uint64_t looks_ = 0;
    std::map<pid_t, Waiting> waiting_;
    pid_t next_ = 0;  // with whom to go on, if there were too many for one turn
    Fd timer_;
    bool armed_ = false;
};

}  // namespace memscope
