#pragma once
#include "base/files.h"
#include "kernel/capabilities.h"
#include "watch/watch_options.h"

namespace memscope {

// The capabilities of `permitted` that a watcher still needs after its BPF programs are attached.
CapabilitySet needed_capabilities(const WatchOptions& options, CapabilitySet permitted);

// Permanently gives up all capabilities except `kept`, for this thread and for the threads and programs that it starts
// later. Call this while there is only one thread, and after the user's command has been forked, because the command
// keeps its capabilities.
Status keep_only(CapabilitySet kept);

// The capabilities of `permitted` that a helper process needs to read watched processes.
CapabilitySet reading_capabilities(CapabilitySet permitted);
// The capabilities of `permitted` that a process needs to attach user probes.
CapabilitySet probing_capabilities(CapabilitySet permitted, bool one_by_one);
// Like keep_only(), but does not join the group that owns the status socket.
Status limit_to(CapabilitySet kept);

// Calls keep_only() with the needed_capabilities() of the capabilities that this process has now.
Status drop_privileges(const SysRoot& root, const WatchOptions& options);

}  // namespace memscope
