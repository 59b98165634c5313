#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace memscope {

// The options of the user for a file that has more than one series, or a series without times or units.
struct SeriesChoice {
    std::optional<std::string> time{};   // column of the times
    std::optional<std::string> value{};  // column, process, container or series
    std::optional<std::string> unit{};   // checked: see parse_unit()
    std::optional<std::string> gpu{};
    std::optional<Seconds> interval{};  // between two samples
};

using TakeSample = std::function<void(Seconds, Bytes)>;

// An error in a line of the file.
Error wrong_line(std::size_t number, std::string_view what, std::string_view line);

// All series of a file, by name. Bounded, because a file can contain anything.
class NamedSeries {
  public:
    // An error if the time is before the time of the previous sample, if a value is out of range, or if there are too
    // many series or samples.
    Status add(const std::string& name, double time, double bytes, std::size_t line_number, std::string_view line);
    // Passes the samples of the wanted series to `take`: the series with this name, else the only series whose name
    // contains the text. Without a text: the only series. Otherwise an error that lists the series. `option`: the
    // option that chooses the series, for example "--value".
    Status pass_on(const std::optional<std::string>& wanted, std::string_view option, const TakeSample& take) const;

    bool empty() const { return series_.empty(); }

  private:
    struct Sample {
        double time = 0;
        std::uint64_t bytes = 0;
    };
    std::map<std::string, std::vector<Sample>> series_{};
    std::size_t samples_ = 0;
};

}  // namespace memscope
