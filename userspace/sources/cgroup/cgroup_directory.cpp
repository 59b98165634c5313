#include "sources/cgroup/cgroup_directory.h"

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "sources/cgroup/cgroup_glob.h"
#include "sources/cgroup/cgroup_path.h"

namespace memscope {
namespace {

bool is_unit_name(std::string_view path) {
    if (path.find('/') != std::string_view::npos) return false;
    constexpr std::string_view kSuffixes[] = {".service", ".scope", ".slice", ".socket", ".mount"};
    return std::any_of(std::begin(kSuffixes), std::end(kSuffixes),
                       [&](std::string_view suffix) { return path.size() > suffix.size() && path.ends_with(suffix); });
}

std::string quoted(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", name);
    return text;
}

}  // namespace

std::vector<std::string> list_cgroups(const CgroupHierarchy& hierarchy, const std::string& below,
                                      const WalkBounds& bounds) {
    std::vector<std::string> paths;
    const auto top = CgroupDirectory::open(hierarchy, below);
    if (!top) return paths;
    walk_directories(top->fd(), below, bounds, [&](const WalkedDirectory& directory) {
        paths.push_back(directory.path);
        return true;
    });
    std::sort(paths.begin(), paths.end());
    return paths;
}

MatchingCgroups find_matching(const CgroupHierarchy& hierarchy, const std::string& glob, const WalkBounds& bounds) {
    const auto pattern = split(glob, '/');
    GlobProgress start(pattern);
    std::string prefix;
    for (const std::string_view component : pattern) {
        if (has_wildcard(component)) break;
        prefix = joined(prefix, component);
        start = start.after(component);
    }
    MatchingCgroups matching;
    const auto top = CgroupDirectory::open(hierarchy, prefix);
    if (!top) {
        matching.no_descriptors = is_out_of_descriptors(top.error());
        return matching;
    }
    if (start.matches() && !prefix.empty()) matching.found.push_back({prefix, top->id()});

    std::vector<GlobProgress> levels{start};  // one for each directory from the top to the visited directory
    const WalkResult walked = walk_directories(top->fd(), prefix, bounds, [&](const WalkedDirectory& directory) {
        levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(directory.depth), levels.end());
        levels.push_back(levels.back().after(directory.name));
        if (levels.back().matches())
            if (const auto id = cgroup_id(directory.fd)) matching.found.push_back({directory.path, *id});
        return levels.back().can_match_below();
    });
    matching.no_descriptors = walked.no_descriptors;
    std::ranges::sort(matching.found, {}, &FoundCgroup::path);
    return matching;
}

Result<std::string> resolve_plain(const CgroupHierarchy& hierarchy, const std::string& path) {
    const auto directory = CgroupDirectory::open(hierarchy, path);
    if (directory) return path;
    if (!is_gone(directory.error()) && directory.error().code != std::errc::not_a_directory) return directory.error();

    const auto existing = list_cgroups(hierarchy, "");
    if (is_unit_name(path)) {
        std::vector<std::string> units;
        std::copy_if(existing.begin(), existing.end(), std::back_inserter(units),
                     [&](const std::string& name) { return last_component(name) == path; });
        if (units.size() == 1) return units.front();
        constexpr std::size_t kNamed = 5;
        if (units.size() > kNamed) units.resize(kNamed);
        if (!units.empty())
            return plain_error(fmt::format("the unit '{}' has more than one cgroup", path),
                               fmt::format("name one by its path: {}", quoted(units)));
    }
    const auto near = similar_names(path, existing);
    return system_error(ENOENT, fmt::format("no cgroup '{}' below {}", path, hierarchy.mount.native()),
                        near.empty() ? "use --wait to wait for it"
                                     : fmt::format("did you mean {}? or use --wait to wait for it", quoted(near)));
}

namespace {

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

// Names of entries that may be directories. All are read before the first one is visited, so that a walk holds only one
// descriptor per level.
Result<std::vector<std::string>> directory_names(const Fd& directory) {
    auto again = open_directory_at(directory, ".");  // a second descriptor, because readdir moves the file offset
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

Result<CgroupId> cgroup_id(const Fd& directory) {
    struct stat status{};
    if (::fstat(directory.get(), &status) != 0) return system_error(errno, "stat cgroup");
    return CgroupId{status.st_ino};
}

bool is_gone(const Error& error) {
    return error.code == std::errc::no_such_file_or_directory || error.code == std::errc::no_such_device;
}

Result<CgroupDirectory> CgroupDirectory::take(Fd fd, std::string path) {
    const auto id = cgroup_id(fd);
    if (!id) return id.error();
    return CgroupDirectory(std::move(fd), *id, std::move(path));
}

Result<std::vector<CgroupDirectory>> CgroupDirectory::open_chain(const CgroupHierarchy& hierarchy,
                                                                 const std::string& path) {
    const auto failed = [&](const Error& error, const std::string& at) {
        return Error{error.code, "open cgroup " + (hierarchy.mount / at).native(), {}};
    };
    auto components = path.empty() ? std::vector<std::string_view>{} : split(path, '/');
    if (components.size() > WalkBounds{}.depth)  // one descriptor is open for each level
        return plain_error("the cgroup '" + shortened(path) + "' is nested too deeply", "watch one of its ancestors");

    std::vector<CgroupDirectory> chain;
    auto root = open_directory(hierarchy.mount);
    if (!root) return failed(root.error(), "");
    auto taken = take(*std::move(root), "");
    if (!taken) return failed(taken.error(), "");
    chain.push_back(*std::move(taken));
    // Opens each component from its parent's descriptor, so that the opened directories are the ancestors of this
    // cgroup even if one of them is renamed meanwhile.
    for (const std::string_view component : components) {
        const std::string here = joined(chain.back().path(), component);
        auto child = open_directory_at(chain.back().fd(), std::string(component).c_str());
        if (!child) return failed(child.error(), here);
        taken = take(*std::move(child), here);
        if (!taken) return failed(taken.error(), here);
        chain.push_back(*std::move(taken));
    }
    std::reverse(chain.begin(), chain.end());
    return chain;
}

Result<CgroupDirectory> CgroupDirectory::open(const CgroupHierarchy& hierarchy, const std::string& path) {
    auto chain = open_chain(hierarchy, path);
    if (!chain) return chain.error();
    return std::move(chain->front());
}

// Does not open the file, because the answer must not depend on a free descriptor.
bool CgroupDirectory::exists() const {
    return ::faccessat(fd_.get(), "cgroup.procs", F_OK, 0) == 0 || (errno != ENOENT && errno != ENODEV);
}

Result<std::vector<CgroupDirectoryPtr>> SharedCgroups::open_chain(const std::string& path) {
    auto opened = CgroupDirectory::open_chain(hierarchy_, path);
    if (!opened) return opened.error();
    constexpr std::size_t kSweepFrom = 64;
    if (open_.size() > kSweepFrom + 2 * swept_size_) {
        std::erase_if(open_, [](const auto& entry) { return entry.second.expired(); });
        swept_size_ = open_.size();
    }
    std::vector<CgroupDirectoryPtr> chain;
    chain.reserve(opened->size());
    for (CgroupDirectory& directory : *opened) {
        auto& known = open_[directory.id()];
        CgroupDirectoryPtr shared = known.lock();
        // A directory of cgroup v1 can be renamed. Then two entries have the same id but different paths.
        if (!shared || shared->path() != directory.path()) {
            shared = std::make_shared<const CgroupDirectory>(std::move(directory));
            known = shared;
        }
        chain.push_back(std::move(shared));
    }
    return chain;
}

}  // namespace memscope
