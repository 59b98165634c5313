#pragma once
#include <optional>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// What the watcher saw of the demo, tick by tick. Answers are made from this and nothing else.
struct Member {
    pid_t pid = 0;
    pid_t parent = 0;
    std::string comm{};
    Role role = Role::other;
    Bytes anon{};
};
struct Moment {
    Seconds at{};             // since the first
    Bytes cgroup_anon{};      // each page once
    Bytes unshared{};         // as memscope found it, of all roles
    std::string unsharing{};  // and explains it; empty: not worth a word
    std::vector<Member> members{};
    Verdict verdict = Verdict::insufficient;  // of memscope
};
using Observation = std::vector<Moment>;

// Adds what a snapshot says of its first target; one without targets adds nothing.
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

// The process that grew most from the first moment to the last; none if nobody is in both.
std::optional<Member> most_grown(const Observation& seen);
// Its ancestors at the last moment that are watched too, the nearest first.
std::vector<Member> ancestors(const Observation& seen, const Member& of);

}  // namespace memscope
