#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/files.h"
#include "base/result.h"
#include "model/snapshot.h"

namespace memscope {

// Counts the targets that could not be watched or read.
class MissedTargets {
  public:
    void not_watched() { ++not_watched_; }  // the BPF map of targets was full
    // A search for targets left out so many, because no file descriptor was left.
    void refreshed(std::size_t no_descriptor) {
        const std::size_t before = std::exchange(not_opened_, no_descriptor);
        no_descriptors_ += no_descriptor - std::min(no_descriptor, before);
    }
    bool lacks_descriptors() const { return not_opened_ > 0; }  // at the last search

    void begin_tick() { not_sampled_ = 0; }
    void not_sampled(const Error& error) {  // though the target exists
        if (is_out_of_descriptors(error)) {
            ++not_sampled_;
            ++no_descriptors_;
        } else {
            ++unreadable_;
        }
    }

    void describe(SelfSample& self) const {
        self.dropped["target_map_full"] = not_watched_;
        self.dropped["target_unreadable"] = unreadable_;
        self.dropped["target_no_descriptor"] = no_descriptors_;
        self.unwatched_targets = not_opened_ + not_sampled_;
    }

  private:
    std::uint64_t not_watched_ = 0;
    std::uint64_t unreadable_ = 0;
    std::size_t not_opened_ = 0;        // at the last search, for lack of file descriptors
    std::size_t not_sampled_ = 0;       // at the last tick, for lack of file descriptors
    std::uint64_t no_descriptors_ = 0;  // the sum of all rises of `not_opened_` and of all values of `not_sampled_`
};

}  // namespace memscope
