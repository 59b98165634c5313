#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/growth/growth.h"
#include "model/growth/stack.h"
#include "sources/elf/native_symbols.h"

namespace memscope {

// Where a stack was: Python by name, native code by file and place in it, so that it means the same in every process.
struct CallSite {
    std::vector<PythonFrame> python{};
    std::vector<NativeLocation> native{};
};
using CallSitePtr = std::shared_ptr<const CallSite>;

// What its names take. A process can choose them, and as many as it likes.
std::size_t name_bytes(const CallSite& site);

// Growth of one process at one site.
struct BookedGrowth {
    CallSitePtr site{};
    pid_t pid = 0;
    RoleKey role{};
    std::int64_t bytes = 0;
    bool living = true;
};

// What has grown at which stack, as far as the kernel has told. What a process had grown by at its end is kept by site
// and run of the job: generations of workers do not pile up, and no run is blamed for an earlier one.
class GrowthBook {
  public:
    // Role and runs of the process that an address space belonged to, when it ended.
    struct Holder {
        RoleKey role{};
        std::vector<RunId> runs{};  // one for each target around the process
    };

    struct Limits {
        std::size_t stacks = 12288;
        std::size_t name_bytes = std::size_t{64} << 20U;  // of all sites
        std::size_t past_sites = 4096;                    // of processes that have ended
    };
    GrowthBook() : GrowthBook(Limits{}) {}
    explicit GrowthBook(Limits limits) : limits_(limits) {}

    // The stack has come, but the helper process has not read yet what names it: learn() or lose_names() follows.
    void expect_names(const RawStack& stack);
    bool expects_names(StackId stack) const;
    void lose_names(StackId stack);  // the process has ended before it was read
    // False where its names found no room: what grew there is known, but not where it is.
    bool learn(const RawStack& stack, CallSite site);
    // A stack without names is not worth its place: what grew there so far is its process's alone.
    void give_up(StackId stack, std::int64_t bytes);
    bool knows(StackId stack) const { return stacks_.contains(stack); }
    // Everything the kernel has booked, in total.
    void set_resident(std::span<const StackGrowth> growth);

    // The process has ended, or executed another program. Returns its stacks, which are not known any more.
    std::vector<StackId> end(const SpaceGrowth& last, const Holder& holder);
    std::vector<SpaceId> spaces_of(pid_t pid) const;
    std::set<pid_t> growing() const;  // processes that have stacks

    // When there are more stacks or names than there is room for: the smallest of those processes that have most are
    // counted without their names, so that what one makes up does not cost another its own. `take` ends one and says
    // what it had, or nothing if it must stay. Returns how many each process lost.
    using Take = std::function<std::optional<std::int64_t>(StackId)>;
    bool is_full() const { return stacks_.size() > limits_.stacks || name_bytes_ > limits_.name_bytes; }
    std::map<pid_t, std::uint32_t> fold(const Take& take);

    // Of those processes that `role_of` knows, and of processes that ended in that run.
    std::vector<BookedGrowth> resident(RunId run, const std::function<const RoleKey*(const ProcessId&)>& role_of) const;
    const CallSitePtr* site_of(StackId stack) const;

    struct Unnamed {
        std::int64_t external = 0;
        std::int64_t other = 0;          // too many stacks
        std::int64_t unknown_stack = 0;  // its frames were lost
        std::int64_t pending = 0;        // its process is still being read
        std::int64_t paused = 0;         // while the hook was off
        std::int64_t exited = 0;         // given back at the end, as a negative number
    };
    Unnamed past(RunId run) const;
    void keep_only(const std::set<RunId>& runs);     // what ended in other runs is forgotten
    Unnamed folded(const ProcessId& process) const;  // of a living one

    std::size_t stack_count() const { return stacks_.size(); }
    std::size_t past_count() const { return past_.size() + past_unnamed_.size(); }
    std::size_t name_bytes() const { return name_bytes_; }

  private:
    struct Stack {
        SpaceId space{};
        CallSitePtr site{};  // null: its frames were lost, or are expected
        bool expected = false;
        std::int64_t resident = 0;
    };
    struct Space {
        ProcessId process{};
        std::set<StackId> stacks{};
        std::size_t name_bytes = 0;  // as if nobody else had these sites
        std::int64_t folded = 0;
    };
    struct SameSite {
        bool operator()(const CallSitePtr& a, const CallSitePtr& b) const;
    };
    struct PastKey {
        CallSitePtr site{};
        RoleKey role{};
        RunId run = kNoRun;
        bool operator<(const PastKey& other) const;
    };
    struct Past {
        std::int64_t bytes = 0;
        std::set<pid_t> pids{};
    };

    Space& register_stack(const RawStack& stack);
    CallSitePtr interned(CallSite site);
    void rename(Stack& stack, Space& space, CallSitePtr site);
    void forget_unused_sites();
    std::size_t fold_space(Space& space, const Take& take);
    void keep(const CallSitePtr& site, const Holder& holder, pid_t pid, std::int64_t bytes);
    void fold_past();

    Limits limits_;
    std::size_t name_bytes_ = 0;  // of sites_
    std::unordered_map<StackId, Stack> stacks_;
    std::map<SpaceId, Space> spaces_;
    std::set<std::pair<pid_t, SpaceId>> by_pid_;  // the same: many end at once
    std::set<CallSitePtr, SameSite> sites_;
    std::map<PastKey, Past> past_;
    std::map<RunId, Unnamed> past_unnamed_;
};

}  // namespace memscope
