#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "kernel/handles.h"
#include "model/growth/range_event.h"

namespace memscope {

// The reading end of the ring that single ranges come through. Both objects that write to it share it, so neither owns
// it.
class RangeRing {
  public:
    static Result<RangeRing> open(int ranges_map);

    int fd() const;
    void drain(const std::function<void(const RangeEvent&)>& visit);
    std::uint64_t malformed() const;

  private:
    struct State;
    struct Free {
        void operator()(State* state) const;
    };
    explicit RangeRing(std::unique_ptr<State, Free> state) : state_(std::move(state)) {}
    std::unique_ptr<State, Free> state_;
};

std::optional<std::uint64_t> read_lost_ranges(int mappings_map, pid_t process);

}  // namespace memscope
