#pragma once
#include <optional>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// The judged memory of a scope, and what of it is known to be something else than memory that a program keeps. The
// parts are disjoint.
struct HeldParts {
    Bytes judged{};
    Bytes unshared{};     // copies of pages that forked processes once shared with their parent
    Bytes shmem{};        // shared memory and tmpfs
    Bytes page_tables{};  // in kernel memory
    Bytes kernel{};       // other kernel memory that cannot be reclaimed
};
// Of a target. Where it is not a cgroup of its own, only anonymous memory is judged, so the other kinds are no part.
HeldParts held_parts(const TargetSnapshot& target, Bytes judged);

// What the memory of a scope was made of, in bounded memory (6 KiB): says why it rose since a leak or warm-up began.
class PartsHistory {
  public:
    explicit PartsHistory(Seconds step) : step_(step) {}

    // Times must not run back.
    void add(Seconds now, const HeldParts& parts);
    // The one part that makes up more than half of the rise since then; none where there is no such part.
    std::optional<GrowthCause> cause_since(Seconds then) const;

  private:
    // Of the samples of one step the one with the least judged memory: it stands on the floor.
    struct Step {
        Seconds began{};
        HeldParts lowest{};
    };

    Seconds step_;  // doubles whenever there are too many
    std::vector<Step> steps_{};
};

}  // namespace memscope
