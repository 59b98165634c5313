#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "model/growth/growth.h"
#include "model/growth/stack.h"
#include "sources/python/python_code.h"

namespace memscope {

// The code objects of watched interpreters. They map an address and an instruction to function, file and line.
class PythonCodes {
  public:
    using LayoutOf = std::function<std::optional<ms_python>(pid_t)>;
    // Reads from the process the parts of a code object that the BPF program has truncated. `nullopt`: not read yet,
    // call again. An error: the truncated copy is used.
    using Complete = std::function<std::optional<Result<PythonCode>>(pid_t, const ms_python& layout,
                                                                     std::uint64_t address, const PythonCode& part)>;
    explicit PythonCodes(LayoutOf layout_of, Complete complete = {})
        : layout_of_(std::move(layout_of)), complete_(std::move(complete)) {}

    // False: the truncated parts are being read, call again.
    enum class Cut { wait, accept };
    bool add(const ms_code& code, Cut cut = Cut::wait);
    PythonFrame frame(const RawStack& stack, const RawStack::PythonCall& call);
    void forget(SpaceId space);
    std::uint64_t unknown() const { return unknown_; }  // frames that could not be named
    std::size_t bytes() const { return *bytes_; }       // of names and line tables

  private:
    struct Key {
        std::uint64_t code = 0;
        std::uint32_t first_line = 0;
        auto operator<=>(const Key&) const = default;
    };
    using CodePtr = std::shared_ptr<const PythonCode>;
    struct Space {
        std::map<Key, CodePtr> codes{};
        std::deque<Key> order{};    // oldest first
        std::size_t bytes = 0;      // of its code objects; a shared one counts in each address space
        std::size_t completed = 0;  // bytes that were read from the process
    };

    bool complete(PythonCode& code, const ms_code& record, Space& space) const;
    CodePtr shared(PythonCode code);
    void forget_oldest(Space& space);
    void make_room();

    LayoutOf layout_of_;
    Complete complete_;
    std::shared_ptr<std::size_t> bytes_ =
        std::make_shared<std::size_t>(0);  // the deleter of a code object subtracts its bytes
    std::map<SpaceId, Space> spaces_;
    std::map<std::size_t, std::weak_ptr<const PythonCode>> alike_;  // by hash; forked workers share code objects
    std::size_t sweep_at_ = 4096;
    std::uint64_t unknown_ = 0;
};

}  // namespace memscope
