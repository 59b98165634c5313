#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace memscope::web {

// The content of gzip data. An error if it is damaged or has more than `most` bytes.
Result<std::string> gunzip(std::string_view bytes, std::size_t most);

}  // namespace memscope::web
