#include "analysis/library_frame.h"

#include <algorithm>
#include <string_view>

namespace memscope {
namespace {

bool all_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "python3.12", "python3.13t" (free-threaded), "python3.11d" (debug build): the folder of the standard library. A plain
// "python3" is not one: Debian keeps only dist-packages there.
bool is_standard_library(std::string_view folder) {
    constexpr std::string_view kPrefix = "python3.";
    if (!folder.starts_with(kPrefix)) return false;
    folder.remove_prefix(kPrefix.size());
    while (folder.ends_with('t') || folder.ends_with('d')) folder.remove_suffix(1);
    return all_digits(folder);
}

// "python311.zip": the standard library of a Python that is shipped inside another program.
bool is_zipped_library(std::string_view folder) {
    constexpr std::string_view kPrefix = "python3";
    constexpr std::string_view kSuffix = ".zip";
    if (!folder.starts_with(kPrefix) || !folder.ends_with(kSuffix)) return false;
    if (folder.size() < kPrefix.size() + kSuffix.size()) return false;
    return all_digits(folder.substr(kPrefix.size(), folder.size() - kPrefix.size() - kSuffix.size()));
}

// Folders are compared whole, so that the user's own "lib/python_tools" or "my-site-packages" is not a library.
bool is_in_library_folder(std::string_view path) {
    std::string_view parent;
    for (std::size_t end = path.find('/'); end != std::string_view::npos; end = path.find('/')) {
        const std::string_view folder = path.substr(0, end);
        path.remove_prefix(end + 1);
        if (folder == "site-packages" || folder == "dist-packages" || is_zipped_library(folder)) return true;
        if ((parent == "lib" || parent == "lib64") && is_standard_library(folder)) return true;
        if (folder.starts_with("torchinductor_")) return true;  // the cache of code that torch.compile generates
        parent = folder;
    }
    return false;
}

// Code without a file of its own. "<string>" (python -c, exec), "<stdin>" and notebook cells are the user's.
bool is_generated_by_library(std::string_view file) {
    constexpr std::string_view kGenerated[] = {"<frozen ", "<eval_with_key>", "<attrs generated ", "<decorator-gen-"};
    return file.ends_with(" internals>") ||  // numpy's "<__array_function__ internals>"
           std::ranges::any_of(kGenerated, [&](std::string_view start) { return file.starts_with(start); });
}

}  // namespace

bool is_library(const PythonFrame& frame) {
    if (frame.file.starts_with('<')) return is_generated_by_library(frame.file);
    return is_in_library_folder(frame.file);
}

}  // namespace memscope
