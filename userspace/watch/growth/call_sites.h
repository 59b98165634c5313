#pragma once
#include <algorithm>
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
#include "watch/growth/shared_frames.h"

namespace memscope {

// The frames of a stack in a form that is valid in every process: Python frames by name, native code by file and
// offset.
struct CallSite {
    SharedFrames python{};
    std::vector<NativeLocation> native{};
};
using CallSitePtr = std::shared_ptr<const CallSite>;

// The own line of a call site alone, or its innermost native function: what stays of a stack for whose details there is
// no room. An import is still recognized as one.
CallSite own_line_of(const CallSite& site);

// Bytes of the names of the call site, those that it shares with other sites included. Counted against limits, because
// the watched process chooses the names and their number.
std::size_t name_bytes(const CallSite& site);

// Growth of one process at one call site.
struct SiteGrowth {
    CallSitePtr site{};
    pid_t pid = 0;
    RoleKey role{};
    std::int64_t bytes = 0;
    std::int64_t passing = 0;  // part of `bytes` that is likely to be freed soon, see Trough
    // True for arenas of Python's allocator. The allocator uses an arena for many allocations, so no single line keeps
    // it.
    bool arenas = false;
    std::int64_t kept() const { return arenas ? 0 : std::max<std::int64_t>(bytes - passing, 0); }
};

SiteGrowth growth_at(const CallSitePtr& site, const HeldAtStack& at, const RoleKey& role);

// True if the Python interpreter itself mapped the memory: the caller of mmap() is code of Python, and not of a library
// or of malloc.
bool is_mapped_by_python(const CallSite& site);

// The call sites of all stacks. Stacks with the same frames share a call site, in all processes.
class CallSites {
  public:
    struct Limits {
        std::size_t stacks = 12288;
        std::size_t of_space = 2304;                      // stacks of one address space
        std::size_t name_bytes = std::size_t{64} << 20U;  // names of all call sites together
    };
    CallSites() : CallSites(Limits{}) {}
    explicit CallSites(Limits limits) : limits_(limits) {}

    // The stack was received, but the helper process has not read the data for its names yet. learn() or lose_names()
    // follows.
    void expect_names(const RawStack& stack);
    bool expects_names(StackId stack) const;
    void lose_names(StackId stack);  // the process ended before it was read
    // If there is no room for all names, the stack gets only its own line. False if there was no room for that either.
    bool learn(const RawStack& stack, CallSite site);
    void give_up(StackId stack);  // removes a stack without names
    bool knows(StackId stack) const { return stacks_.contains(stack); }

    // The process has ended, or executed another program. Removes its stacks and returns their ids.
    std::vector<StackId> end(SpaceId space);
    std::vector<SpaceId> spaces_of(pid_t pid) const;
    std::set<pid_t> growing() const;  // processes that have stacks

    // If there are too many stacks or names: merges the smallest stacks of the processes that have the most into their
    // own lines, so that a process with many names does not cost another process its names. If one address space has
    // too many stacks: removes its stacks that hold nothing any more, and merges its smallest stacks. What a stack
    // holds keeps its line. `size_of` returns the bytes of a stack, or `nullopt` if the stack must stay.
    using SizeOf = std::function<std::optional<std::int64_t>(StackId)>;
    struct Folded {
        // Removed stacks, and the stack of the own line that stands for them now. kNoStack: they held nothing, or an
        // address space has too many own lines.
        std::unordered_map<StackId, StackId> stacks{};
        std::map<pid_t, std::uint32_t> lost{};  // how many stacks each process lost
    };
    bool is_full() const { return stacks_.size() > limits_.stacks || name_bytes() > limits_.name_bytes; }
    bool has_crowded_space() const;
    Folded fold(const SizeOf& size_of);

    const CallSitePtr* site_of(StackId stack) const;

    std::size_t stack_count() const { return stacks_.size(); }
    std::size_t name_bytes() const { return name_bytes_ + frames_.bytes(); }

  private:
    struct Stack {
        SpaceId space{};
        CallSitePtr site{};     // null: the frames were lost, or are not read yet
        std::size_t bytes = 0;  // of its site, for the share of its space
        bool expected = false;
        bool is_line = false;  // stands for the merged stacks of an own line
    };
    struct Space {
        ProcessId process{};
        std::set<StackId> stacks{};
        std::size_t lines = 0;       // of `stacks`, those that stand for an own line
        std::size_t name_bytes = 0;  // sum over its stacks
    };
    struct SameSite {
        bool operator()(const CallSitePtr& a, const CallSitePtr& b) const;
    };

    Space& register_stack(const RawStack& stack);
    CallSitePtr interned(CallSite site);
    std::size_t new_bytes(const CallSite& site) const;
    bool has_room(const Space& space, std::size_t bytes) const;
    void rename(Stack& stack, Space& space, CallSitePtr site, std::size_t bytes);
    StackId line_of(SpaceId id, Space& space, const CallSitePtr& site);
    void forget_unused_sites();
    bool is_crowded(const Space& space) const { return space.stacks.size() > limits_.of_space; }
    enum class Remove { empty_ones, smallest_half };
    void fold_space(SpaceId id, Space& space, const SizeOf& size_of, Remove which, Folded& folded);
    void fold_all(const SizeOf& size_of, Folded& folded);

    Limits limits_;
    std::size_t name_bytes_ = 0;  // of sites_, without their frames
    FramePool frames_{};
    std::unordered_map<StackId, Stack> stacks_;
    std::map<SpaceId, Space> spaces_;
    std::set<std::pair<pid_t, SpaceId>> by_pid_;  // an index of spaces_, because many processes end at once
    std::set<CallSitePtr, SameSite> sites_;
};

}  // namespace memscope
