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
    Role role = Role::other;
    Bytes anon{};
};
struct Moment {
    Seconds at{};             // since the first moment
    Bytes cgroup_anon{};      // each page once
    Bytes unshared{};         // copy-on-write un-sharing of all roles, as memscope measured it
    std::string unsharing{};  // memscope's explanation of it; empty: too small to mention
    std::vector<Member> members{};
    Verdict verdict = Verdict::insufficient;   // of memscope
    std::optional<GrowthCause::Kind> cause{};  // that the verdict names
    std::string holders{};                     // which containers of Python have grown, as the verdict says
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
Line summed_line(const Observation& seen);  // of all processes: shared pages count once for each
Line role_line(const Observation& seen, Role role);
Line process_line(const Observation& seen, pid_t pid);

// The process that grew most from the first moment to the last. Nullopt if no process is in both.
std::optional<Member> most_grown(const Observation& seen);
// Its watched ancestors at the last moment, the nearest first.
std::vector<Member> ancestors(const Observation& seen, const Member& of);

}  // namespace memscope
