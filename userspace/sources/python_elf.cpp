#include "sources/python_elf.h"

#include <string_view>

#include "base/text.h"
#include "sources/elf_file.h"

namespace memscope {
namespace {

// The folder of its library stands in every interpreter.
std::optional<int> version_in_text(const ElfFile& file) {
    constexpr std::string_view kMarker = "python3.";
    constexpr std::size_t kMostDigits = 2;
    std::optional<int> version;
    const auto text = file.section(".rodata");
    if (!text) return version;
    file.for_each_text(*text, kMarker, kMarker.size() + kMostDigits + 1, [&](std::string_view found) {
        found.remove_prefix(kMarker.size());
        const auto digits = found.substr(0, found.find_first_not_of("0123456789"));
        if (digits.size() > kMostDigits) return true;
        if (const auto minor = parse_number(digits)) version = 300 + static_cast<int>(*minor);
        return !version;
    });
    return version;
}

}  // namespace

std::optional<PythonElf> find_python_in(const ElfFile& file) {
    constexpr std::string_view kNames[] = {"_PyRuntime", "Py_Version"};
    const auto symbols = file.find_symbols(kNames);
    PythonElf found;
    if (symbols[0])
        found.runtime = symbols[0]->value;
    else if (const auto section = file.section(".PyRuntime"))  // 3.13 and later; in stripped files as well
        found.runtime = section->address;
    else
        return std::nullopt;
    found.load_address = file.load_address();
    if (symbols[1])
        found.version_address = symbols[1]->value;
    else
        found.version_text = version_in_text(file);
    return found;
}

PythonElfCache::Identity PythonElfCache::identity_of(const struct stat& status) {
    return {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

std::optional<std::optional<PythonElf>> PythonElfCache::known(const struct stat& status) {
    const auto found = by_identity_.find(identity_of(status));
    if (found == by_identity_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->found;
}

std::optional<PythonElf> PythonElfCache::look(const Fd& file, const struct stat& status) {
    if (auto answer = known(status)) return *answer;
    std::optional<PythonElf> found;
    if (const auto elf = ElfFile::open(file)) found = find_python_in(*elf);
    entries_.push_front({identity_of(status), found});
    by_identity_[entries_.front().identity] = entries_.begin();
    if (entries_.size() > kLimit) {
        by_identity_.erase(entries_.back().identity);
        entries_.pop_back();
    }
    return found;
}

}  // namespace memscope
