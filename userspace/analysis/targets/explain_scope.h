#pragma once
#include <string>

#include "model/snapshot.h"

namespace memscope {

// What a verdict means here: the sentence of its curve, then who makes it and which limit comes first. A role that is
// big and flat is named as what it is, constant overhead.
std::string explain_scope(const TargetSnapshot& target, const ScopeVerdict& verdict);

// Whether people should read it beside that of the target: a GPU or a role that leaks, unless the target's names the
// role already.
bool adds_to(const TargetSnapshot& target, const ScopeVerdict& verdict);

// The verdict of the target says that copies of shared pages are why it grows: nothing else need say so.
bool says_unsharing(const TargetSnapshot& target);

// "8 dataloader workers", "the trainer of rank 3"
std::string role_text(const RoleKey& key, std::uint64_t processes);

}  // namespace memscope
