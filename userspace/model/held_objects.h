#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/heap_objects.h"

// A bounded summary of the Python objects of a process, for ticks, records and death reports. A whole ObjectCensus can
// have megabytes.
namespace memscope {

// A container, and how it has changed since an earlier census. A change that is not known is absent.
struct HolderChange {
    Holder holder{};  // its `within` has no meaning here, because not all holders are in the summary
    std::optional<std::int64_t> length_change{};
    std::optional<std::int64_t> retained_change{};  // bytes of host memory
    std::optional<std::int64_t> device_change{};    // bytes of GPU memory
    // Growth of the container itself, in bytes: without the growth of containers inside it that were there before.
    // 0 if the change is not known.
    std::int64_t own_host = 0;
    std::int64_t own_device = 0;
};

// Growth that no container of Python explains.
struct OtherGrowth {
    std::string what{};  // "freed memory that malloc keeps"
    Bytes bytes{};
};

struct HeldObjects {
    static constexpr std::size_t kMostHolders = 10;
    static constexpr std::size_t kMostDevices = 16;

    double time = 0;                // of the census, seconds since 1970
    std::optional<Seconds> over{};  // time since the earlier census; none: there is none, and no change is known
    ObjectsRefusal refusal = ObjectsRefusal::none;
    std::uint64_t objects = 0;
    Bytes bytes{};                  // of all objects
    std::int64_t grown = 0;         // change of the anonymous memory of the process, swapped-out memory included
    std::int64_t device_grown = 0;  // change of its tensors on GPUs
    Bytes explained{};              // own growth of all containers that grew, in host memory
    Bytes device_explained{};       // own growth of these containers in GPU memory
    // The containers that grew most, or that hold most if no change is known. The last one may be a larger container
    // whose change is unknown.
    std::vector<HolderChange> holders{};
    // The container that holds most. It is the largest container. If a container inside it holds more than half of it,
    // it is that inner container, and so on.
    std::optional<Holder> most{};
    std::vector<TensorTotal> tensors{};  // by device
    std::vector<OtherGrowth> others{};   // largest first
    std::uint64_t alike = 0;             // other processes of the role and rank that have about the same size
};

}  // namespace memscope
