#pragma once
#include <functional>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "review/export.h"

namespace memscope {

// Writes a file that is complete or absent: into a temporary file beside it, which then gets its name. Replaces a
// regular file and nothing else. `option`: the one that names the file, for messages.
Status write_new_file(const fs::path& path, const std::string& option,
                      const std::function<Status(const WriteText&)>& produce);

}  // namespace memscope
