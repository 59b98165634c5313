#include "analysis/growth/attribution.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>

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
    constexpr std::string_view kGenerated[] = {"<frozen ", "<eval_with_key>", "<attrs generated ", "<decorator-gen-",
                                               kLeftOutFile};
    return file.ends_with(" internals>") ||  // numpy's "<__array_function__ internals>"
           std::ranges::any_of(kGenerated, [&](std::string_view start) { return file.starts_with(start); });
}

}  // namespace

bool is_library(const PythonFrame& frame) {
    if (frame.file.starts_with('<')) return is_generated_by_library(frame.file);
    return is_in_library_folder(frame.file);
}

namespace {

bool alike(const NativeFrame& a, const NativeFrame& b) {
    if (a.symbol != b.symbol || a.module != b.module) return false;
    return !a.symbol.empty() || a.offset == b.offset;
}

bool comes_before(const NativeFrame& a, const NativeFrame& b) {
    const std::uint64_t a_offset = a.symbol.empty() ? a.offset : 0;
    const std::uint64_t b_offset = b.symbol.empty() ? b.offset : 0;
    return std::tie(a.module, a.symbol, a_offset) < std::tie(b.module, b.symbol, b_offset);
}

struct SamePlaceFirst {
    bool operator()(const GrowthSite* a, const GrowthSite* b) const {
        if (a->role != b->role) return a->role < b->role;
        if (a->python != b->python) return a->python < b->python;
        return std::lexicographical_compare(a->native.begin(), a->native.end(), b->native.begin(), b->native.end(),
                                            comes_before);
    }
};

bool same_place(const GrowthSite& a, const GrowthSite& b) {
    return a.role == b.role && a.python == b.python &&
           std::equal(a.native.begin(), a.native.end(), b.native.begin(), b.native.end(), alike);
}

void add(GrowthSite& to, const GrowthSite& from) {
    to.bytes = add_bytes(to.bytes, from.bytes);
    to.pids.insert(to.pids.end(), from.pids.begin(), from.pids.end());
}

void sort_pids(GrowthSite& site) {
    std::sort(site.pids.begin(), site.pids.end());
    site.pids.erase(std::unique(site.pids.begin(), site.pids.end()), site.pids.end());
}

}  // namespace

std::int64_t add_bytes(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

std::vector<GrowthSite> merged_sites(std::vector<GrowthSite> sites) {
    std::vector<GrowthSite*> in_order;
    in_order.reserve(sites.size());
    for (GrowthSite& site : sites) in_order.push_back(&site);
    std::stable_sort(in_order.begin(), in_order.end(), SamePlaceFirst{});
    std::vector<GrowthSite> result;
    for (GrowthSite* site : in_order) {
        if (!result.empty() && same_place(result.back(), *site))
            add(result.back(), *site);
        else
            result.push_back(std::move(*site));
    }
    std::erase_if(result, [](const GrowthSite& site) { return site.bytes == 0; });
    std::ranges::for_each(result, sort_pids);
    std::stable_sort(result.begin(), result.end(),
                     [](const GrowthSite& a, const GrowthSite& b) { return a.bytes > b.bytes; });
    return result;
}

std::vector<OwnLine> own_lines(std::vector<GrowthSite> sites) {
    struct Entry {
        const PythonFrame* own;
        GrowthSite* site;
    };
    std::vector<Entry> in_order;
    in_order.reserve(sites.size());
    for (GrowthSite& site : sites) in_order.push_back({own_frame(site.python), &site});
    // The largest stack of a line comes first: its frames are kept.
    std::stable_sort(in_order.begin(), in_order.end(), [](const Entry& a, const Entry& b) {
        if (!a.own || !b.own) return a.own && !b.own;
        if (a.site->role != b.site->role) return a.site->role < b.site->role;
        if (*a.own != *b.own) return *a.own < *b.own;
        return a.site->bytes > b.site->bytes;
    });
    std::vector<OwnLine> lines;
    for (const Entry& each : in_order) {
        const PythonFrame* last = lines.empty() ? nullptr : own_frame(lines.back().site.python);
        if (last && each.own && lines.back().site.role == each.site->role && *last == *each.own) {
            add(lines.back().site, *each.site);
            ++lines.back().stacks;
        } else {
            lines.push_back({std::move(*each.site)});
        }
    }
    std::erase_if(lines, [](const OwnLine& line) { return line.site.bytes == 0; });
    for (OwnLine& line : lines) sort_pids(line.site);
    std::stable_sort(lines.begin(), lines.end(),
                     [](const OwnLine& a, const OwnLine& b) { return a.site.bytes > b.site.bytes; });
    return lines;
}

bool is_import_system(const PythonFrame& frame) { return frame.file.starts_with("<frozen importlib"); }

std::string module_name(std::string_view file) {
    constexpr std::string_view kPackage = "/__init__.py", kSource = ".py";
    if (file.ends_with(kPackage))
        file.remove_suffix(kPackage.size());
    else if (file.ends_with(kSource))
        file.remove_suffix(kSource.size());
    // The name begins below the last folder of libraries. Elsewhere it is not known where packages begin.
    std::size_t begin = file.rfind('/') + 1;
    std::size_t end = 0;
    std::string_view parent;
    for (std::size_t at = 0; (end = file.find('/', at)) != std::string_view::npos; at = end + 1) {
        const std::string_view folder = file.substr(at, end - at);
        if (folder == "site-packages" || folder == "dist-packages" || folder == "lib-dynload") begin = end + 1;
        if ((parent == "lib" || parent == "lib64") && is_standard_library(folder)) begin = end + 1;
        parent = folder;
    }
    std::string name(file.substr(begin));
    std::ranges::replace(name, '/', '.');
    return name;
}

std::string short_place(const PythonFrame& frame) {
    std::string place = frame.file.substr(frame.file.rfind('/') + 1);
    if (frame.line > 0) place += ":" + std::to_string(frame.line);
    return place;
}

}  // namespace memscope
