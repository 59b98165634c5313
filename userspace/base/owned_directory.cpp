#include "base/owned_directory.h"

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <memory>

namespace memscope {
namespace {

constexpr std::size_t kMostEntries = 10'000;  // bounds the time to read a directory that is full of other files

struct Close {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

// The group `memscope`. Called once per directory, because getgrnam() can query a server on the network.
std::optional<gid_t> group_of_files() {
    const group* memscope = ::getgrnam("memscope");
    return memscope ? std::optional(memscope->gr_gid) : std::nullopt;
}

Result<Fd> make_and_open(const Fd& parent, const char* name, const std::string& path, std::optional<gid_t> group,
                         const std::string& advice) {
    const bool made = ::mkdirat(parent.get(), name, 0750) == 0;
    if (!made && errno != EEXIST) return system_error(errno, "make directory " + path, advice);
    Fd directory(::openat(parent.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory) return system_error(errno, "open directory " + path, advice);
    if (made) {
        give_to(group, directory);
        (void)::fchmod(directory.get(), 0750);  // mkdirat applied the umask
    }
    return directory;
}

Result<Fd> open_or_make(const fs::path& path, std::optional<gid_t> group, const std::string& advice) {
    Fd there(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (there) return there;
    if (errno != ENOENT) return system_error(errno, "open directory " + path.string(), advice);
    const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
    const auto above = open_directory(parent);
    if (!above) return Error{above.error().code, above.error().where, advice};
    return make_and_open(*above, path.filename().c_str(), path.string(), group, advice);
}

}  // namespace

void give_to(std::optional<gid_t> group, const Fd& file) {
    if (group && ::fchown(file.get(), static_cast<uid_t>(-1), *group) != 0) errno = 0;
}

bool is_ours(const struct stat& file) { return file.st_uid == ::geteuid(); }

std::vector<std::string> names_in(const Fd& directory) {
    std::vector<std::string> names;
    // A second descriptor, because reading moves the position of the first.
    const int again = ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (again < 0) return names;
    const std::unique_ptr<DIR, Close> stream(::fdopendir(again));
    if (!stream) {
        ::close(again);
        return names;
    }
    while (const dirent* entry = ::readdir(stream.get())) {
        if (names.size() >= kMostEntries) break;
        names.emplace_back(entry->d_name);
    }
    std::ranges::sort(names);
    return names;
}

Result<OwnedDirectory> open_owned_directory(fs::path path, const std::string& option) {
    const std::string advice = "choose another directory with " + option;
    if (!path.has_filename()) path = path.parent_path();  // "/var/lib/memscope/"
    const std::optional<gid_t> group = group_of_files();
    auto opened = open_or_make(path, group, advice);
    if (!opened) return opened.error();
    struct stat found{};
    if (::fstat(opened->get(), &found) != 0) return system_error(errno, "stat " + path.string());
    if (!is_ours(found) && ::geteuid() == 0) {
        const std::string own = std::to_string(::geteuid());
        auto folder = make_and_open(*opened, own.c_str(), (path / own).string(), group, advice);
        if (!folder) return folder.error();
        if (::fstat(folder->get(), &found) != 0 || !is_ours(found))
            return plain_error((path / own).string() + " belongs to another user", advice);
        return OwnedDirectory{path / own, *std::move(folder), group};
    }
    if (::faccessat(opened->get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
        return system_error(errno, "write to " + path.string(), advice);
    return OwnedDirectory{std::move(path), *std::move(opened), group};
}

}  // namespace memscope
