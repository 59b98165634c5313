#pragma once
#include "base/units.h"
#include "model/gpu_account.h"

namespace memscope {

// What PyTorch has handed out to tensors of one process on one device, by its own probes.
struct TensorAccount {
    CudaProcess process{};
    int device = -1;  // as the process counts them; -1: not known
    Bytes bytes{};
    std::uint64_t tensors = 0;
    bool missed_some = false;  // of the process: the sums of all its devices are not to be relied on
    bool living = true;        // false: the process has ended, or executed another program
};

}  // namespace memscope
