#pragma once
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// The processes to notify when memory runs out. Pointers into the target's processes.
struct ProcessesToNotify {
    const Process* chosen = nullptr;         // the process to notify, which can save its work; null: there is none
    const Process* grower = nullptr;         // the process that grows, of any role; null: none grows
    std::vector<const Process*> trainers{};  // all trainers, the one with the most memory first
};

// Chooses the trainer that grows, because a trainer can save its work, while a worker only dies of a signal. If another
// process grows, chooses the trainer that it belongs to. If no process grows, chooses the trainer with the most memory.
// Without any trainer, chooses the process that grows or holds most, launchers last.
ProcessesToNotify processes_to_notify(const TargetSnapshot& target);

}  // namespace memscope
