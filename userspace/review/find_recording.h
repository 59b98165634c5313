#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "recording/recording.h"

namespace memscope {

// The file that a user means by `given`: a path, or the name of a target. For a target: its latest recording in the
// directory.
Result<fs::path> find_recording(const std::string& given, const fs::path& directory);
// Like find_recording(). If `given` is a directory: all recordings in it.
Result<std::vector<fs::path>> find_all_recordings(const std::string& given, const fs::path& directory);

// The target to read: `chosen`, or `given` if that is the name of one of several targets.
std::optional<std::string> named_target(const Recording& recording, const std::optional<std::string>& chosen,
                                        const std::string& given);

}  // namespace memscope
