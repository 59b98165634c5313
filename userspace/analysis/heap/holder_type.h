#pragma once
#include <string_view>

#include "model/heap_objects.h"

namespace memscope {

// True if a qualified name is this type. `name` may leave out the module: "Tensor" is "torch.Tensor".
bool is_type(std::string_view qualified, std::string_view name);

// True if the container, or most of its items, are of this type.
bool holds_type(const Holder& holder, std::string_view name);

}  // namespace memscope
