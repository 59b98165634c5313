#include "sources/smaps_rollup.h"

#include <array>
#include <limits>

#include "base/text.h"

namespace memscope {
namespace {

constexpr std::size_t kRollupLimit = 8192;  // about 800 bytes are usual

struct RollupLine {
    std::string_view key;
    std::optional<Bytes> value{};
};

// "      1332 kB"
std::optional<Bytes> parse_kibibytes(std::string_view text) {
    constexpr std::string_view kUnit = " kB";
    text = trimmed(text);
    if (!text.ends_with(kUnit)) return std::nullopt;
    text.remove_suffix(kUnit.size());
    const auto number = parse_number(text);
    if (!number || *number > std::numeric_limits<std::uint64_t>::max() / 1024) return std::nullopt;
    return Bytes{*number * 1024};
}

}  // namespace

std::optional<PageSharing> parse_smaps_rollup(std::string_view text) {
    enum { rss, pss, anonymous, private_dirty, private_clean, shared_dirty, shared_clean, pss_anon, pss_shmem };
    std::array<RollupLine, 9> lines = {{{"Rss"},
                                        {"Pss"},
                                        {"Anonymous"},
                                        {"Private_Dirty"},
                                        {"Private_Clean"},
                                        {"Shared_Dirty"},
                                        {"Shared_Clean"},
                                        {"Pss_Anon"},
                                        {"Pss_Shmem"}}};
    for_each_line(text.substr(0, kRollupLimit), [&](std::string_view line) {
        const auto colon = line.find(':');
        if (colon == std::string_view::npos) return;
        for (RollupLine& wanted : lines)
            if (wanted.key == line.substr(0, colon) && !wanted.value)
                wanted.value = parse_kibibytes(line.substr(colon + 1));
    });
    for (const int always : {rss, pss, anonymous, private_dirty, private_clean, shared_dirty, shared_clean})
        if (!lines.at(static_cast<std::size_t>(always)).value) return std::nullopt;
    return PageSharing{.resident = *lines[rss].value,
                       .pss = *lines[pss].value,
                       .pss_anon = lines[pss_anon].value,
                       .pss_shmem = lines[pss_shmem].value,
                       .anonymous = *lines[anonymous].value,
                       .private_dirty = *lines[private_dirty].value,
                       .private_clean = *lines[private_clean].value,
                       .shared_dirty = *lines[shared_dirty].value,
                       .shared_clean = *lines[shared_clean].value};
}

Result<PageSharing> read_smaps_rollup(const Fd& process) {
    const auto text = read_file_at(process, "smaps_rollup", kRollupLimit);
    if (!text) return text.error();
    const auto pages = parse_smaps_rollup(*text);
    if (!pages) return plain_error("smaps_rollup is not understood");
    return *pages;
}

}  // namespace memscope
