#pragma once
#include <cstdint>
#include <string>

namespace memscope {

// By the magic number of <linux/magic.h>; the number itself in hexadecimal where it is not known here.
std::string file_system_name(std::uint64_t magic);

}  // namespace memscope
