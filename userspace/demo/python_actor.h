#pragma once
#include <optional>
#include <string>

#include "demo/scenario.h"
#include "demo/tree.h"

namespace memscope {

// The program of a CPython whose objects memscope can read. Nullopt: there is none on this machine.
std::optional<std::string> find_demo_python();

// The Python program that plays the actor: it keeps its memory in a list, `trainer.val_outputs`. It writes one byte to
// the file descriptor `ready` once it holds its first memory and has its name.
std::string python_program(const Actor& actor, const StageClock& clock, int ready);

// Replaces the calling process by that program. Returns only if that fails.
void become_python(const std::string& python, const Actor& actor, const StageClock& clock, int ready);

}  // namespace memscope
