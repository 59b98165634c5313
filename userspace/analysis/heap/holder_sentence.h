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

// Which containers have grown, and which part of the growth they explain: "`Trainer.val_outputs` (list) has grown by
// 11,200 tuples and 812 MiB in 10 min; 92 % of the growth." If containers explain less than half of the growth, also
// what else grew. Empty without an earlier census, and if neither the process nor a container grew. Printable.
std::string holder_sentence(const HeldObjects& held, HolderMemory memory = HolderMemory::host);

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

// True if the sentence names a container that has grown.
bool names_holder(const HeldObjects& held, HolderMemory memory = HolderMemory::host);

// The container that holds most, for a census without an earlier census to compare with: "`Trainer.val_outputs` (list
// with 11,200 tuples) holds 812 MiB." Empty if there is none.
std::string largest_holder_sentence(const HeldObjects& held);

// "11,200 tuples", "785 tensors (cuda:0 float32[1,128,512])", "12 items". `element` as in Holder.
std::string items_text(std::uint64_t count, const std::string& element);
// "list of tuple", "dict"
std::string kind_text(const Holder& holder);
// "11,200"
std::string grouped(std::uint64_t number);
std::string grouped_change(std::int64_t number);  // with its sign; "0"

}  // namespace memscope
