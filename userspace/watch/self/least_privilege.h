#pragma once
#include "base/files.h"
#include "kernel/capabilities.h"
#include "watch/watch_options.h"

namespace memscope {

// What watching goes on needing once its BPF programs are attached, out of what there is.
CapabilitySet needed_capabilities(const WatchOptions& options, CapabilitySet permitted);

// Gives all other capabilities up for good: this thread, threads and programs it starts later. To be called while there
// is one thread only, and after the user's command has been forked, which keeps what it has.
Status keep_only(CapabilitySet kept);

// What a helper process that reads watched processes needs, out of what there is.
CapabilitySet reading_capabilities(CapabilitySet permitted);
// What a process that attaches user probes needs, out of what there is.
CapabilitySet probing_capabilities(CapabilitySet permitted, bool one_by_one);
// As keep_only(), without joining the group that owns the status socket.
Status limit_to(CapabilitySet kept);

// Both, for what this process is permitted now.
Status drop_privileges(const SysRoot& root, const WatchOptions& options);

}  // namespace memscope
