#include "review/find_recording.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "recording/recording.h"
#include "recording/store.h"

namespace memscope {

Result<fs::path> find_recording(const std::string& given, const fs::path& directory) {
    std::error_code failed;
    if (fs::exists(given, failed) || given.ends_with(kRecordingSuffix)) {
        const fs::path named(given);
        // The name of a file in the directory, as `memscope recordings` prints it.
        if (!fs::exists(named, failed) && !named.has_parent_path()) {
            const auto all = find_recordings(directory);
            if (all)
                for (const fs::path& each : *all)
                    if (each.filename() == named) return each;
        }
        return named;
    }
    const auto all = find_recordings(directory);
    const std::string advice = "`memscope recordings` lists the recordings";
    if (!all) return Error{all.error().code, all.error().where, "name the file of a recording"};
    // The latest first. The names of files are escaped and cut, so the name of the target is read from the recording
    // itself.
    for (auto path = all->rbegin(); path != all->rend(); ++path) {
        const auto opened = Recording::open(*path);
        if (!opened) continue;
        const auto& targets = opened->targets();
        const auto is_it = [&](const RecordedTarget& target) { return target.info.name == given; };
        if (std::ranges::any_of(targets, is_it)) return *path;
    }
    return plain_error(fmt::format("'{}' is neither a file nor a target with a recording", shortened(given)), advice);
}

std::optional<std::string> named_target(const Recording& recording, const std::optional<std::string>& chosen,
                                        const std::string& given) {
    if (chosen) return chosen;
    const auto is_it = [&](const RecordedTarget& target) { return target.info.name == given; };
    return std::ranges::any_of(recording.targets(), is_it) ? std::optional(given) : std::nullopt;
}

Result<std::vector<fs::path>> find_all_recordings(const std::string& given, const fs::path& directory) {
    std::error_code failed;
    if (fs::is_directory(given, failed)) {
        auto all = find_recordings(given);
        if (!all) return all.error();
        if (all->empty()) return plain_error(given + ": has no recording");
        return all;
    }
    auto one = find_recording(given, directory);
    if (!one) return one.error();
    return std::vector<fs::path>{*std::move(one)};
}

}  // namespace memscope
