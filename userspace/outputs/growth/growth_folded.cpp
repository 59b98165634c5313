#include "outputs/growth/growth_folded.h"

#include <algorithm>
#include <fmt/format.h>
#include <ranges>

#include "base/text.h"
#include "outputs/growth/growth_frames.h"

namespace memscope {
namespace {

// Replaces the characters that separate frames and lines, because programs choose the names.
std::string frame_text(std::string_view name) {
    std::string text = printable(name);
    std::ranges::replace(text, ';', ':');
    return text;
}

std::string stack_of(const GrowthSite& site) {
    std::string stack(name_of(site.role.role));
    if (site.role.rank) stack += fmt::format(" {}", *site.role.rank);
    for (const PythonFrame& frame : site.python | std::views::reverse)
        stack += ";" + frame_text(name_of(frame) + " (" + place_of(frame) + ")");
    for (const NativeFrame& frame : parts_of(site).native | std::views::reverse)
        stack += ";" + frame_text(name_of(frame));
    return stack;
}

}  // namespace

FoldedGrowth growth_folded(const GrowthReport& report) {
    const GrowthPlane& plane = report.growth.resident;
    FoldedGrowth folded;
    std::size_t unshown = 0;
    std::int64_t unshown_bytes = 0;
    const auto add = [&](const std::string& stack, std::int64_t bytes) {
        if (bytes > 0) {
            folded.text += fmt::format("{} {}\n", stack, bytes);
        } else if (bytes < 0) {
            ++unshown;
            unshown_bytes = add_bytes(unshown_bytes, bytes);
        }
    };
    const ShownSites shown = shown_sites(plane, report.top);
    for (const GrowthSite& site : shown.sites) add(stack_of(site), site.bytes);
    if (shown.left_out > 0) add(fmt::format("[left out];[{} call sites]", shown.left_out), shown.left_out_bytes);
    for (const UnattributedGrowth& part : plane.unattributed)
        add("[unattributed];[" + frame_text(part.reason) + "]", part.bytes);
    if (unshown > 0)
        folded.note = fmt::format("{} of the sums are negative, and this format cannot show them: {} bytes", unshown,
                                  unshown_bytes);
    return folded;
}

}  // namespace memscope
