#pragma once
#include <vector>

#include "base/units.h"
#include "model/gpu_account.h"

namespace memscope {

// What PyTorch has handed out to tensors of one process, by its own probes.
struct TensorAccount {
    struct Device {
        int number = -1;  // as the process counts them; -1: not known
        Bytes bytes{};
    };
    CudaProcess process{};
    std::vector<Device> devices{};  // that it ever had a tensor on
    std::uint64_t tensors = 0;
    bool missed_some = false;  // the sums are not to be relied on
};

}  // namespace memscope
