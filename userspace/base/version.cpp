#include "base/version.h"

#ifndef MEMSCOPE_VERSION
#define MEMSCOPE_VERSION "dev"
#endif

namespace memscope {

constinit const std::string_view kVersion = MEMSCOPE_VERSION;

}  // namespace memscope
