#include "sources/proc/smaps_rollup.h"

#include <algorithm>
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
    enum { rss, pss, pss_anon, pss_shmem, anonymous, private_dirty, private_clean, all };
    std::array<RollupLine, all> lines = {
        {{"Rss"}, {"Pss"}, {"Pss_Anon"}, {"Pss_Shmem"}, {"Anonymous"}, {"Private_Dirty"}, {"Private_Clean"}}};
    for_each_line(text.substr(0, kRollupLimit), [&](std::string_view line) {
        const auto colon = line.find(':');
        if (colon == std::string_view::npos) return;
        for (RollupLine& wanted : lines)
            if (wanted.key == line.substr(0, colon) && !wanted.value)
                wanted.value = parse_kibibytes(line.substr(colon + 1));
    });
    if (!std::ranges::all_of(lines, [](const RollupLine& line) { return line.value.has_value(); })) return std::nullopt;
    const auto value = [&](int line) { return *lines.at(static_cast<std::size_t>(line)).value; };
    // Private_Dirty includes shared memory that only one process has mapped so far. Pss_Shmem is at least that much.
    const Bytes own_anon = std::min(value(private_dirty) - value(pss_shmem), value(anonymous));
    return PageSharing{.resident = value(rss),
                       .anonymous = value(anonymous),
                       .own_anon = own_anon,
                       .own_mapped = value(private_dirty) + value(private_clean) - own_anon,
                       .pss = PageSharing::Pss{.all = value(pss), .anon = value(pss_anon)}};
}

Result<PageSharing> read_smaps_rollup(const Fd& process) {
    const auto text = read_file_at(process, "smaps_rollup", kRollupLimit);
    if (!text) return text.error();
    const auto pages = parse_smaps_rollup(*text);
    if (!pages) return plain_error("smaps_rollup has an unexpected format");
    return *pages;
}

}  // namespace memscope
