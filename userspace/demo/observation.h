#pragma once
#include <optional>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// The snapshots of the demo, tick by tick. Answers are computed from this alone.
struct Member {
    pid_t pid = 0;
    pid_t parent = 0;
    std::string comm{};
    std::string title{};  // its command, as tables show it
    Role role = Role::other;
    Bytes anon{};
};
// A process that the kernel killed for lack of memory.
struct SeenKill {
    Seconds at{};  // since the first moment
    RoleKey role{};
    std::string comm{};
    std::string explanation{};  // by memscope
};
struct Moment {
    Seconds at{};             // since the first moment
    Bytes cgroup_anon{};      // each page once
    Bytes held{};             // memory of the cgroup that the kernel cannot reclaim
    Bytes unshared{};         // copy-on-write un-sharing of all roles, as memscope measured it
    std::string unsharing{};  // memscope's explanation of it; empty: too small to mention
    std::vector<Member> members{};
    std::vector<SeenKill> kills{};             // since the moment before
    Verdict verdict = Verdict::insufficient;   // by memscope
    std::optional<GrowthCause::Kind> cause{};  // the cause that the verdict names
    std::string holders{};                     // the containers of Python that have grown, from the verdict
    std::optional<GrowingLines> lines{};       // the lines that grow, from the verdict
    std::optional<Grower> grower{};            // the process that grows most, from the verdict
    std::optional<Seconds> leaks_since{};      // when the leak began, since watching began
    std::optional<Seconds> full_in{};          // forecast: the time until the limit is reached
    std::optional<RestartLoop> loop{};         // earlier runs, from the verdict
    std::optional<HeapCensus> heap{};          // the latest census of the largest process
};
using Observation = std::vector<Moment>;

// Adds the first target of a snapshot. A snapshot without targets adds nothing.
void observe(Observation& seen, const Snapshot& snapshot, double began);

struct Point {
    Seconds at{};
    Bytes size{};
};
using Line = std::vector<Point>;

Line cgroup_line(const Observation& seen);
Line held_line(const Observation& seen);    // of the cgroup
Line summed_line(const Observation& seen);  // of all processes: shared pages count once for each
Line role_line(const Observation& seen, Role role);
Line process_line(const Observation& seen, pid_t pid);

std::vector<SeenKill> kills_of(const Observation& seen);
// The line that most moments with the verdict `leaking` name, from the last of these moments. Not simply the last line,
// because a run that has just begun grows at other lines.
std::optional<GrowingLines> leaking_lines(const Observation& seen);
// The last holders and the last cause that a verdict named. Later moments can lack them, for example if a run has just
// begun.
std::string last_holders(const Observation& seen);
std::optional<GrowthCause::Kind> last_cause(const Observation& seen);
// The moment whose verdict counts: the last moment. If processes were killed: the last moment before the last kill,
// because a run that has just begun cannot be judged. Null: there is no such moment.
const Moment* judged_moment(const Observation& seen);

// The process that grew most from the first moment to the last. Nullopt if no process is in both.
std::optional<Member> most_grown(const Observation& seen);
// The watched ancestors of `of` at the last moment, the nearest first.
std::vector<Member> ancestors(const Observation& seen, const Member& of);

}  // namespace memscope
