#pragma once
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "model/processes/process.h"

namespace memscope {

// GPU memory in the tensors of one process, from PyTorch's static probes.
struct GpuTensorAccount {
    struct Device {
        int number = -1;  // number of the device in the process; -1: not known
        Bytes bytes{};
    };
    ProcessInstance process{};
    std::vector<Device> devices{};  // devices that have had a tensor
    std::uint64_t tensors = 0;
    bool missed_some = false;  // the sums are not reliable
};

}  // namespace memscope
