#pragma once
#include <string>

#include "model/snapshot.h"

namespace memscope {

// Explains a verdict: first the sentence about its curve, then which process causes it and which limit is reached
// first. A large role with constant memory is described as constant overhead.
std::string scope_sentence(const TargetSnapshot& target, const ScopeVerdict& verdict);

// True if this verdict should be shown in addition to that of the target: a GPU or a role that leaks, unless the
// target's verdict names the role already.
bool adds_to(const TargetSnapshot& target, const ScopeVerdict& verdict);

// True if the verdict of the target names un-sharing as its cause. Then no other output needs to repeat it.
bool says_unsharing(const TargetSnapshot& target);

// "8 dataloader workers", "the trainer of rank 3"
std::string role_text(const RoleKey& key, std::uint64_t processes);

}  // namespace memscope
