#pragma once
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "model/gpu/gpu_account.h"
#include "model/snapshot.h"

namespace memscope {

// The device that an account is of: the one the process was told, else the only one it can be. Empty: nobody can tell.
GpuId device_of(const GpuAccount& account, const std::vector<GpuDevice>& devices);
GpuId device_of(const std::optional<GpuUuid>& told, pid_t pid, const std::vector<GpuDevice>& devices);

// Which processes of a target hold memory of which device, as the driver says. `taken_ns`, on the boot clock, is when
// it said so: a process that is younger only has the pid of one that was there before. The driver knows processes by
// their pids on the host, and so must `processes` (by pid). Roles are not summed yet.
TargetGpu join_gpu(std::span<const GpuDevice> devices, std::uint64_t taken_ns, std::span<const Process> processes);

// Whoever holds memory of a device, with the index of the GPU: none for those on several, and on parts of one.
std::map<pid_t, std::optional<int>> gpu_index_of_holders(std::span<const GpuDevice> devices);

// Sums what processes hold, from wherever it is known, into roles and pinned memory of roles.
void sum_gpu_by_role(TargetGpu& gpu, std::span<const Process> processes);
// And their tensors. Those of a role are known where those of all its processes are that have reserved memory there:
// else what is reserved for no tensor would seem to be more than it is.
void sum_tensors_by_role(TargetGpu& gpu, std::span<const Process> processes);

// What the target holds of a device, by the driver; of a GPU that is cut into MIG devices, all of its parts. None where
// the driver does not tell of one of its processes, or of none.
std::optional<Bytes> held_on(const GpuDevice& device, std::span<const GpuDevice> all, const TargetGpu& gpu);

// What is in use there beyond that: other jobs, contexts, the display. None where it is not known.
std::optional<Bytes> others_on(const GpuDevice& device, std::span<const GpuDevice> all,
                               const std::optional<TargetGpu>& gpu);

}  // namespace memscope
