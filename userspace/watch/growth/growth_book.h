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

// The frames of a stack in a form that is valid in every process: Python frames by name, native code by file and
// offset.
struct CallSite {
    std::vector<PythonFrame> python{};
    std::vector<NativeLocation> native{};
};
using CallSitePtr = std::shared_ptr<const CallSite>;

// Bytes of the names of the call site. The watched process chooses the names and their number.
std::size_t name_bytes(const CallSite& site);

// Growth of one process at one call site.
struct BookedGrowth {
    CallSitePtr site{};
    pid_t pid = 0;
    RoleKey role{};
    std::int64_t bytes = 0;
    bool living = true;
};

// Growth by stack, as the BPF programs have counted it. The growth of an ended process is kept by call site and run of
// the job, so that generations of workers do not need more and more memory, and the growth of an earlier run is not
// attributed to a later one.
class GrowthBook {
  public:
    // Role and runs of the process of an address space, at its end.
    struct Holder {
        RoleKey role{};
        std::vector<RunId> runs{};  // one for each target around the process
    };

    struct Limits {
        std::size_t stacks = 12288;
        std::size_t name_bytes = std::size_t{64} << 20U;  // names of all call sites together
        std::size_t past_sites = 4096;                    // call sites of ended processes
    };
    GrowthBook() : GrowthBook(Limits{}) {}
    explicit GrowthBook(Limits limits) : limits_(limits) {}

    // The stack was received, but the helper process has not read the data for its names yet. learn() or lose_names()
    // follows.
    void expect_names(const RawStack& stack);
    bool expects_names(StackId stack) const;
    void lose_names(StackId stack);  // the process ended before it was read
    // False if there was no room for the names. Then the growth of the stack is counted without names.
    bool learn(const RawStack& stack, CallSite site);
    // Removes a stack without names. Its growth so far is counted for its process only.
    void give_up(StackId stack, std::int64_t bytes);
    bool knows(StackId stack) const { return stacks_.contains(stack); }
    // Sets the growth of each stack to the total that the BPF programs have counted.
    void set_resident(std::span<const StackGrowth> growth);

    // The process has ended, or executed another program. Removes its stacks and returns their ids.
    std::vector<StackId> end(const SpaceGrowth& last, const Holder& holder);
    std::vector<SpaceId> spaces_of(pid_t pid) const;
    std::set<pid_t> growing() const;  // processes that have stacks

    // If there are too many stacks or names: removes the smallest stacks of the processes that have most, and counts
    // their growth without names, so that a process with many names does not cost another process its names. `take`
    // removes one stack and returns its bytes, or `nullopt` if the stack must stay. Returns how many each process lost.
    using Take = std::function<std::optional<std::int64_t>(StackId)>;
    bool is_full() const { return stacks_.size() > limits_.stacks || name_bytes_ > limits_.name_bytes; }
    std::map<pid_t, std::uint32_t> fold(const Take& take);

    // Growth of the processes that `role_of` knows, and of processes that ended in that run.
    std::vector<BookedGrowth> resident(RunId run, const std::function<const RoleKey*(const ProcessId&)>& role_of) const;
    const CallSitePtr* site_of(StackId stack) const;

    struct Unnamed {
        std::int64_t external = 0;
        std::int64_t other = 0;          // too many stacks
        std::int64_t unknown_stack = 0;  // the frames were lost
        std::int64_t pending = 0;        // the process is still being read
        std::int64_t paused = 0;         // grown while the hook was off
        std::int64_t exited = 0;         // freed at the end of the process, as a negative number
    };
    Unnamed past(RunId run) const;
    void keep_only(const std::set<RunId>& runs);     // forgets the growth of processes that ended in other runs
    Unnamed folded(const ProcessId& process) const;  // of a running process

    std::size_t stack_count() const { return stacks_.size(); }
    std::size_t past_count() const { return past_.size() + past_unnamed_.size(); }
    std::size_t name_bytes() const { return name_bytes_; }

  private:
    struct Stack {
        SpaceId space{};
        CallSitePtr site{};  // null: the frames were lost, or are not read yet
        bool expected = false;
        std::int64_t resident = 0;
    };
    struct Space {
        ProcessId process{};
        std::set<StackId> stacks{};
        std::size_t name_bytes = 0;  // as if no other address space had these call sites
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
    std::set<std::pair<pid_t, SpaceId>> by_pid_;  // an index of spaces_, because many processes end at once
    std::set<CallSitePtr, SameSite> sites_;
    std::map<PastKey, Past> past_;
    std::map<RunId, Unnamed> past_unnamed_;
};

}  // namespace memscope
