#pragma once
#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>
#include <vector>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"

namespace memscope {

// A directory in which memscope keeps files of its own, readable by the group `memscope` where it exists. Other users
// may have files in it too, so only files of our own user are ever removed.
struct OwnedDirectory {
    fs::path path{};
    Fd fd{};
    std::optional<gid_t> group{};  // group of the files; nullopt: the group of this process
};

// Creates the directory if it is missing. Call it before privileges are dropped; writing files later needs none. If we
// run as root and the directory belongs to another user (root starts a watcher by hand, the directory belongs to the
// service), the files go to a folder of our own in it, named after our uid. Symbolic links below the named directory
// are not followed. `option` is the command line option that chooses another directory; error messages name it.
Result<OwnedDirectory> open_owned_directory(fs::path path, const std::string& option);

// Changes the group of a file, if there is one. If we may not change it, the file keeps our own group.
void give_to(std::optional<gid_t> group, const Fd& file);

// Names in a directory that is already open, sorted, at most 10,000.
std::vector<std::string> names_in(const Fd& directory);

// True if the file belongs to our user.
bool is_ours(const struct stat& file);

}  // namespace memscope
