#pragma once
#include "base/files.h"
#include "kernel/session.h"

namespace memscope {

// Makes the kernel side follow a process and all its descendants, those that are there already and those to come.
Status follow_tree(Session& session, const SysRoot& root, pid_t pid);

}  // namespace memscope
