#include "sources/elf/demangle.h"

#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <memory>
#include <vector>

namespace memscope {
namespace {

constexpr std::size_t kMangledLimit = 4096;
constexpr double kDemangledLimit = 32 << 20;
constexpr std::size_t kShownLimit = 4096;

int digit_36(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
    return -1;
}

}  // namespace

// A mangled name can refer to an earlier part (S_, S0_, S1_, ...), and that part can contain references, too. Thirty
// parts, each twice as long as the one before, expand a hundred bytes to gigabytes. But a reference points only to
// parts with a lower number, so no part is longer than all text plus all references to lower parts.
double demangled_size_bound(std::string_view name) {
    std::vector<unsigned> references;
    unsigned parameters = 0;  // T_, T0_, ...: an argument of the template, which may contain references
    for (std::size_t i = 0; i + 1 < name.size(); ++i) {
        if (name[i] != 'S' && name[i] != 'T') continue;
        std::size_t number = 0, end = i + 1;
        for (; end < name.size() && digit_36(name[end]) >= 0 && number < kMangledLimit; ++end)
            number = number * 36 + static_cast<std::size_t>(digit_36(name[end])) + 1;
        if (end == name.size() || name[end] != '_') continue;
        if (name[i] == 'T') {
            ++parameters;
            continue;
        }
        // A name of this length cannot have that many parts, so the reference is invalid.
        if (number >= kMangledLimit) continue;
        if (number >= references.size()) references.resize(number + 1);
        ++references[number];
    }
    constexpr double kLongestWord = 16;  // one letter can expand to a word of this length: "unsigned __int128"
    double bound = kLongestWord * static_cast<double>(name.size());
    for (const unsigned count : references) bound += count * bound;
    return bound * (1 + parameters);
}

std::string demangled(std::string_view name) {
    const bool is_mangled = name.starts_with("_Z") && name.size() <= kMangledLimit;
    if (!is_mangled || demangled_size_bound(name) > kDemangledLimit) return std::string(name);
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status), &std::free);
    if (status != 0 || !text) return std::string(name);
    std::string shown(text.get(), ::strnlen(text.get(), kShownLimit + 1));
    if (shown.size() > kShownLimit) shown.replace(kShownLimit, std::string::npos, "...");
    return shown;
}

}  // namespace memscope
