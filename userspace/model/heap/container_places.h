#pragma once
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "model/processes/process.h"

// Lengths of Python's containers between two censuses of the objects. All addresses are those of the watched process.
namespace memscope {

// 64 bits, so that a place has no padding: two jobs with the same places must have the same bytes.
enum class ContainerKind : std::uint64_t { list, dict, set, deque };

// Where the length of a container is, and what identifies the container there. Python gives the address of a freed
// container to a new one of the same type, so that the address alone does not identify it.
struct ContainerPlace {
    std::uint64_t address = 0;
    std::uint64_t slot = 0;   // address of a word that refers to the container; 0: none is known
    std::uint64_t type = 0;   // address of its type
    std::uint64_t items = 0;  // value of its pointer to its items when it was read last
    std::uint64_t length = 0;
    ContainerKind kind = ContainerKind::list;
    bool operator==(const ContainerPlace&) const = default;
};

struct ContainerReading {
    enum class State : std::uint64_t {
        same,    // the word in the slot or the pointer to the items proves it
        unsure,  // a container of its type is there, but neither of them is as before
        gone,
        unread,  // its page was not present
    };
    State state = State::unread;
    std::uint64_t length = 0;
    std::uint64_t items = 0;
};

// The containers that a census chooses: the largest ones.
constexpr std::size_t kMostContainerPlaces = 50'000;

// A container of a process that has gained items since some time and has given none back.
struct GrowingContainer {
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    std::uint64_t gained = 0;  // items since then
    double since = 0;          // seconds since 1970: the last reading before it began to gain
    double gained_at = 0;      // seconds since 1970: the last reading at which it had gained
    double read_at = 0;        // seconds since 1970: the last reading
    std::uint64_t looks = 0;   // readings since then at which it had gained
    Seconds longest_pause{};   // between two gains, if there was a look between them
    double per_second = 0;     // items, since then
};

}  // namespace memscope
