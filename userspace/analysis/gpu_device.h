#pragma once
#include <vector>

#include "model/gpu_account.h"

namespace memscope {

// The device that an account is of: the one the process was told, else the only one it can be. Empty: nobody can tell.
GpuId device_of(const GpuAccount& account, const std::vector<GpuDevice>& devices);
GpuId device_of(const std::optional<GpuUuid>& told, pid_t pid, const std::vector<GpuDevice>& devices);

}  // namespace memscope
