#include "sources/cgroup_walk.h"

#include <dirent.h>
#include <memory>
#include <vector>

#include "base/files.h"
#include "sources/cgroup_path.h"

namespace memscope {
namespace {

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

// Names of what may be a directory. All are read before the first one is visited, so that no more than one
// descriptor is held per level.
Result<std::vector<std::string>> directory_names(const Fd& directory) {
    auto again = open_directory_at(directory, ".");  // readdir moves the offset of its descriptor: not ours
    if (!again) return again.error();
    const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(again->get()));
    if (!stream) return system_error(errno, "list a directory");
    again->release();
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(stream.get())) {
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) names.emplace_back(name);
    }
    return names;
}

class Walk {
  public:
    Walk(const WalkBounds& bounds, const std::function<bool(const WalkedDirectory&)>& visit)
        : bounds_(bounds), visit_(visit) {}

    void below(const Fd& directory, const std::string& path, std::size_t depth) {
        const auto names = directory_names(directory);
        if (!names) return note(names.error());
        for (const std::string& name : *names) {
            if (seen_ >= bounds_.directories || depth > bounds_.depth) {
                result_.complete = false;
                return;
            }
            const auto child = open_directory_at(directory, name.c_str());
            if (!child) {
                const bool normal = child.error().code == std::errc::no_such_file_or_directory ||
                                    child.error().code == std::errc::no_such_device ||
                                    child.error().code == std::errc::not_a_directory;
                if (!normal) note(child.error());
                continue;
            }
            ++seen_;
            const std::string child_path = joined(path, name);
            if (visit_({child_path, name, depth, *child})) below(*child, child_path, depth + 1);
        }
    }
    const WalkResult& result() const { return result_; }

  private:
    void note(const Error& error) {
        result_.complete = false;
        if (is_out_of_descriptors(error)) result_.no_descriptors = true;
    }

    WalkResult result_{};
    const WalkBounds& bounds_;
    const std::function<bool(const WalkedDirectory&)>& visit_;
    std::size_t seen_ = 0;
};

}  // namespace

WalkResult walk_directories(const Fd& top, const std::string& top_path, const WalkBounds& bounds,
                            const std::function<bool(const WalkedDirectory&)>& visit) {
    Walk walk(bounds, visit);
    walk.below(top, top_path, 1);
    return walk.result();
}

}  // namespace memscope
