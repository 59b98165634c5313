#pragma once
#include <span>

#include "model/page_sharing.h"
#include "model/sharing.h"
#include "model/snapshot.h"

namespace memscope {

// Each page once, by role and rank. Only roles three quarters of whose resident memory was there when it was read: a
// sum that lacks more would look like memory that was freed.
std::map<RoleKey, RolePss> sum_pss(std::span<const Process> processes, const SharingReadings& readings,
                                   std::uint64_t now_ns);

}  // namespace memscope
