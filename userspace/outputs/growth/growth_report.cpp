#include "outputs/growth/growth_report.h"

namespace memscope {
namespace {

// Bound for one plane, so that a program with a million stacks does not cost the watcher gigabytes.
constexpr std::size_t kMostNameBytes = std::size_t{12} << 20U;

std::size_t name_bytes(const GrowthSite& site) {
    constexpr std::size_t kPerFrame = 40;  // bytes that output formats add around the names
    std::size_t bytes = 0;
    for (const PythonFrame& frame : site.python) bytes += kPerFrame + frame.function.size() + frame.file.size();
    for (const NativeFrame& frame : site.native) bytes += kPerFrame + frame.symbol.size() + frame.module.size();
    return bytes;
}

}  // namespace

ShownSites shown_sites(const GrowthPlane& plane, std::optional<std::size_t> top) {
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < plane.sites.size() && (!top || count < *top); ++count) {
        bytes += name_bytes(plane.sites[count]);
        if (bytes > kMostNameBytes) break;
    }
    ShownSites shown{.sites = std::span(plane.sites).first(count), .left_out = plane.sites.size() - count};
    for (const GrowthSite& site : std::span(plane.sites).subspan(count))
        shown.left_out_bytes = add_bytes(shown.left_out_bytes, site.bytes);
    return shown;
}

}  // namespace memscope
