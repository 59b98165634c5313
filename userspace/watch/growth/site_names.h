#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "model/growth/growth.h"
#include "sources/elf/native_symbols.h"
#include "watch/growth/call_sites.h"

namespace memscope {

// Turns the growth of one report into named sites. Looks up each native location once, because the sites of a report
// share most of their frames.
class SiteNames {
  public:
    // Except with Wait::yes, only this many of the largest sites of a plane get symbols. A death report shows 10 sites,
    // and the live view one screen. The other sites keep module and offset.
    static constexpr std::size_t kMostNamed = 256;

    SiteNames(NativeSymbols& symbols, NativeReads::Wait wait) : symbols_(symbols), wait_(wait) {}

    // Merges the growth of several processes at one site.
    GrowthPlane plane(std::vector<SiteGrowth> growths);
    const NativeFrame& named(const NativeLocation& location);
    bool complete() const { return complete_; }  // false: symbols are still being loaded (Wait::no)

  private:
    using Place = std::tuple<std::shared_ptr<Module>, std::uint64_t, bool>;

    NativeSymbols& symbols_;
    NativeReads::Wait wait_;
    std::map<Place, NativeFrame> known_{};
    bool complete_ = true;
};

}  // namespace memscope
