#include "sources/heap/python/running_variables.h"

#include <algorithm>

#include "sources/heap/heap_range.h"

namespace memscope {
namespace {

constexpr std::size_t kMostVariables = 20'000;
constexpr std::uint64_t kMostOfFrame = 4096;  // of a frame
constexpr std::uint64_t kObjectHead = 112;    // bytes; enough for an array
constexpr int kReadRounds = 8;

}  // namespace

void RunningVariables::read(std::span<const Address> frames) {
    for (const Address frame : frames) find(frame);
    HeapCopy& memory = reader_.memory();
    for (int round = 0; round < kReadRounds && !variables_.empty() && !memory.late(); ++round) {
        read_targets();
        for (Variable& variable : variables_) {
            const PythonType* type =
                variable.target >= ObjectData::kLowest ? reader_.types().of(variable.target) : nullptr;
            variable.is_array = type != nullptr && type->kind == ObjectKind::ndarray;
            variable.is_whole = !variable.is_array || reader_.arrays().remember(variable.target);
        }
        read_slots();
        // A variable that still refers to the object that was read is done. Otherwise the memory may have been that of
        // another object already: Python uses the memory of a freed array for the next one.
        std::erase_if(variables_, [&](const Variable& variable) {
            if (variable.slot == 0) return true;
            const bool is_same = target_of(variable) == variable.target;
            if (!is_same && variable.is_array) reader_.arrays().forget(variable.target);
            return is_same && variable.is_whole;
        });
    }
}

// The variables of the frame, and the part of its stack that is surely in use.
void RunningVariables::find(Address frame) {
    const ObjectLayout& layout = reader_.layout();
    HeapCopy& memory = reader_.memory();
    const Address code = reader_.frame_code(frame);
    if (!reader_.is_code(code)) return;
    const std::uint64_t count = memory.get<std::uint32_t>(code + layout.code_locals);
    if (count > kMostOfFrame) return;
    for (std::uint64_t i = 0; i < count && variables_.size() < kMostVariables; ++i)
        variables_.push_back({.slot = frame + layout.frame_locals + 8 * i});
    reader_.frame_references(frame, [&](Address target, Slot slot) {
        if (slot.kind == Slot::stack && target % 8 == 0 && variables_.size() < kMostVariables)
            variables_.push_back({.target = target});
    });
}

Address RunningVariables::target_of(const Variable& variable) {
    return reader_.memory().word(variable.slot) & ~std::uint64_t{7};  // 3.14: tags
}

void RunningVariables::read_slots() {
    std::vector<HeapRange> slots;
    slots.reserve(variables_.size());
    for (const Variable& variable : variables_)
        if (variable.slot != 0) slots.push_back({variable.slot, variable.slot + 8});
    reader_.memory().copy_again(slots);
}

void RunningVariables::read_targets() {
    read_slots();
    std::vector<HeapRange> heads;
    for (Variable& variable : variables_) {
        if (variable.slot != 0) variable.target = target_of(variable);
        if (pools_.contains(variable.target)) heads.push_back({variable.target, variable.target + kObjectHead});
    }
    reader_.memory().copy_again(heads);
}

}  // namespace memscope
