#pragma once
#include <functional>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "review/export.h"

namespace memscope {

// Writes a file so that it is complete or absent: writes a temporary file in the same directory and renames it.
// Replaces only a regular file. `option`: the option that names the file, for messages.
Status write_new_file(const fs::path& path, const std::string& option,
                      const std::function<Status(const WriteText&)>& produce);

}  // namespace memscope
