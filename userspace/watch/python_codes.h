#pragma once
#include <deque>
#include <map>
#include <memory>

#include "kernel/growth_signal.h"
#include "model/growth.h"
#include "sources/python_code.h"

namespace memscope {

// The code objects of watched interpreters: what turns an address and an instruction into function, file and line.
class PythonCodes {
  public:
    explicit PythonCodes(GrowthSignal& signal) : signal_(signal) {}

    void add(const ms_code& code);
    PythonFrame frame(const RawStack& stack, const RawStack::PythonCall& call);
    void forget(SpaceId space) { spaces_.erase(space); }
    std::uint64_t unknown() const { return unknown_; }  // frames that could not be named

  private:
    struct Key {
        std::uint64_t code = 0;
        std::uint32_t first_line = 0;
        auto operator<=>(const Key&) const = default;
    };
    using CodePtr = std::shared_ptr<const PythonCode>;
    struct Space {
        std::map<Key, CodePtr> codes{};
        std::deque<Key> order{};  // oldest first
    };

    CodePtr shared(PythonCode code);

    GrowthSignal& signal_;
    std::map<SpaceId, Space> spaces_;
    std::map<std::size_t, std::weak_ptr<const PythonCode>> alike_;  // by hash: forked workers have the same code
    std::size_t sweep_at_ = 4096;
    std::uint64_t unknown_ = 0;
};

}  // namespace memscope
