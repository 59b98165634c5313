#pragma once
#include <string>
#include <string_view>

namespace memscope {

// Who is behind a process that ends others for a living, by its name; empty: nobody known. A container runtime acts for
// whoever made the cgroup, which shows in the target's name. Names can be taken by anybody, so nothing but words for
// people hangs on them.
std::string keeper_of(std::string_view comm, std::string_view target);

// A daemon that kills before the kernel has to. Some ask with SIGTERM first.
bool kills_for_memory(std::string_view comm);

// One that sits in the job's own cgroup and yet is no part of the job.
bool keeps_from_inside(std::string_view comm);

}  // namespace memscope
