#pragma once
#include <optional>
#include <vector>

#include "base/units.h"
#include "model/snapshot.h"

namespace memscope {

// A cause is named if it makes up more than this share of the rise.
constexpr double kMostOfTheRise = 0.5;

// The judged memory of a scope, and the parts of it that are known to be something else than memory which a program
// keeps. The parts are disjoint.
struct HeldParts {
    Bytes judged{};
    Bytes unshared{};     // copies of pages that forked processes once shared with their parent
    Bytes shmem{};        // shared memory and tmpfs
    Bytes page_tables{};  // in kernel memory
    Bytes kernel{};       // other kernel memory that cannot be reclaimed
};
// The parts of a target. If the target is not a cgroup of its own, only anonymous memory is judged, so the other kinds
// are not included.
HeldParts held_parts(const TargetSnapshot& target, Bytes judged);

// Keeps the composition of the memory of a scope in bounded memory (6 KiB), to explain why it rose since a leak or
// warm-up began.
class PartsHistory {
  public:
    explicit PartsHistory(Seconds step) : step_(step) {}

    // Time must not run backwards.
    void add(Seconds now, const HeldParts& parts);
    // The part that makes up more than half of the rise since then. None if there is no such part.
    std::optional<GrowthCause> cause_since(Seconds then) const;
    // The judged memory then, and by how much it has risen since. None if it has not risen.
    struct Rise {
        Bytes from{};
        Bytes by{};
    };
    std::optional<Rise> rise_since(Seconds then) const;

  private:
    struct Ends {
        HeldParts before{};
        HeldParts now{};
    };
    std::optional<Ends> ends_since(Seconds then) const;

    // The sample of one step with the least judged memory, because that one is on the floor.
    struct Step {
        Seconds began{};
        HeldParts lowest{};
    };

    Seconds step_;  // doubles when there are too many steps
    std::vector<Step> steps_{};
};

}  // namespace memscope
