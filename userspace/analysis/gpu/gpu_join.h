#pragma once
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "model/gpu/cuda_account.h"
#include "model/snapshot.h"

namespace memscope {

// The device of an account: the device that the process was seen to use (`uuid`). Otherwise the only device of the
// machine, or the only device that lists the process. Empty if the device cannot be determined.
GpuId device_of(const CudaAccount& account, const std::vector<GpuDevice>& devices);
GpuId device_of(const std::optional<GpuUuid>& uuid, pid_t pid, const std::vector<GpuDevice>& devices);

// Joins the driver's list of processes with the processes of a target. `taken_ns` is the time of the list on the boot
// clock: a process that started after this time is not in the list. If the list has its pid, that pid belonged to an
// earlier process. The driver uses pids of the host, so `processes` must have those, too (sorted by pid). Does not sum
// up roles.
TargetGpu join_gpu(std::span<const GpuDevice> devices, std::uint64_t taken_ns, std::span<const Process> processes);

// The processes that hold GPU memory, with the index of their GPU. The index is none for a process on several GPUs or
// on a part of a GPU (MIG).
std::map<pid_t, std::optional<int>> gpu_index_of_holders(std::span<const GpuDevice> devices);

// Sums the memory of processes by role, from every source that is known, and the pinned memory by role.
void sum_gpu_by_role(TargetGpu& gpu, std::span<const Process> processes);
// Sums tensors by role. The sum of a role is known only if it is known for all of its processes that have reserved
// memory on the device. Otherwise the reserved memory without tensors would seem larger than it is.
void sum_tensors_by_role(TargetGpu& gpu, std::span<const Process> processes);

// The memory that the target holds on a device, as the driver reports it. For a GPU that is split into MIG devices, the
// sum of all its parts. None if the driver does not report the memory of one of the target's processes, or lists none
// of them.
std::optional<Bytes> held_on(const GpuDevice& device, std::span<const GpuDevice> all, const TargetGpu& gpu);

// The other memory in use on the device: other jobs, contexts, the display. None if it is not known.
std::optional<Bytes> others_on(const GpuDevice& device, std::span<const GpuDevice> all,
                               const std::optional<TargetGpu>& gpu);

}  // namespace memscope
