#pragma once
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// Who is to be told that memory runs out. Pointers into the target's processes.
struct ToldProcesses {
    const Process* told = nullptr;           // who can save its work; null: there is nobody
    const Process* grower = nullptr;         // who grows, whatever its role; null: nobody does
    std::vector<const Process*> trainers{};  // all of them, who holds most first
};

// A trainer can save its work, a worker that is sent a signal only dies of it. So it is the trainer that grows; where
// something else grows the trainer it belongs to; where nobody does the trainer that holds most. Without any trainer
// whoever grows, or holds most, launchers last.
ToldProcesses whom_to_tell(const TargetSnapshot& target);

}  // namespace memscope
