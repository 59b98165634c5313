#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/heap/heap.h"
#include "model/snapshot.h"

namespace memscope {

// Which memory a sentence is about.
enum class HolderMemory { host, device };

// What has grown, and which part of the growth it explains, largest first: a holder ("`Trainer.val_outputs` (list) has
// grown by 11,200 tuples and 812 MiB in 10 min; 92 % of the growth."), garbage, memory that native code has lost, freed
// memory. What explains less than 10 % is not named. If all this explains less than half of the growth, also what else
// grew. Empty without an earlier census, and if nothing grew. Printable.
std::string holder_sentence(const HeldObjects& held, HolderMemory memory = HolderMemory::host);

// The sentences about host and GPU memory, the larger growth first.
std::string holders_sentence(const HeldObjects& held);

// The process of a target whose containers explain its growth. If the process that grows is known (`grower`), the
// result is that process or a similar worker. Otherwise it is the process whose containers grew most. Its census is
// recent and was compared with an earlier one. Null if there is no such process. `now`: seconds since 1970.
const ProcessHeap* heap_that_grows(const TargetSnapshot& target, const std::optional<RoleKey>& role,
                                   const std::optional<Grower>& grower, double now,
                                   HolderMemory memory = HolderMemory::host);

// For the whole target, with the grower of its verdict.
const ProcessHeap* heap_that_grows(const TargetSnapshot& target, double now);

// The sentence about the containers of that process. Empty if it is null or has no census of objects.
std::string holder_sentence(const ProcessHeap* heap, HolderMemory memory = HolderMemory::host);

// The same as holders_sentence(). Empty if it is null or has no census of objects.
std::string holders_sentence(const ProcessHeap* heap);

// True if the sentence names a holder that has grown, or another cause.
bool names_holder(const HeldObjects& held, HolderMemory memory = HolderMemory::host);

// True if the sentence about host memory names a holder.
bool has_grown_holder(const HeldObjects& held);

// The holder that retains most, for a census without an earlier census to compare with: "`Trainer.val_outputs` (list
// with 11,200 tuples) holds 812 MiB." Empty if there is none, or if it has less than 10 % of the memory.
std::string largest_holder_sentence(const HeldObjects& held);

// Why the objects of the process were not read.
std::string refusal_sentence(ObjectsRefusal refusal);

// "11,200 tuples", "785 tensors (cuda:0 float32[1,128,512])", "12 items". `element` as in Holder.
std::string items_text(std::uint64_t count, const std::string& element);
// "list of tuple", "dict"
std::string kind_text(const Holder& holder);
// "11,200"
std::string grouped(std::uint64_t number);
std::string grouped_change(std::int64_t number);  // with its sign; "0"

}  // namespace memscope
