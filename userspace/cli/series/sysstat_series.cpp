#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/series/sample_text.h"
#include "cli/series/series_format.h"

namespace memscope {
namespace {

constexpr double kDay = 86400;
constexpr const char* kUsed = "kbmemused";
constexpr double kKilobyte = 1024;
constexpr double kEarliestDate = 1e9;  // seconds since 1970: the year 2001; larger than any time of day

using Words = std::vector<std::string_view>;

std::size_t place_of(const Words& words, std::string_view word) {
    return static_cast<std::size_t>(std::ranges::find(words, word) - words.begin());
}

// `sar -r` and `pidstat -r` of sysstat: a banner, then tables with a header each, whose first column is a clock of 12
// or 24 hours, or seconds since 1970 (`pidstat -H`). Lines with averages begin with a word of the user's language and a
// colon. With more options than -r there are also other tables, which are skipped.
class SysstatSeries : public SeriesFormat {
  public:
    explicit SysstatSeries(SeriesChoice choice) : choice_(std::move(choice)) {}

    Status add_line(std::string_view line, std::size_t number) override {
        if (auto refused = refuse_options("sar and pidstat", choice_, "--value, --unit"); !refused) return refused;
        Words words = words_of(line);
        if (words.empty() || is_banner(words)) return Done{};
        const bool commented = words.front() == "#";  // pidstat -h
        const auto clock = commented ? std::nullopt : take_clock(words);
        if (commented) words.erase(words.begin(), words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words)));
        if (!commented && !clock)
            return is_average(words) ? Status(Done{}) : wrong_line(number, "not a table of sysstat", line);
        if (!words.empty() && words.front() == "LINUX" && words.size() > 1 && words[1] == "RESTART") return Done{};
        if (is_header(words)) {
            in_other_table_ = !is_about_memory(words);
            return in_other_table_ ? Status(Done{}) : take_header(words, number, line);
        }
        if (in_other_table_) return Done{};
        if (columns_ == 0) return wrong_line(number, "a row before the header", line);
        if (!clock) return wrong_line(number, "a row without a time", line);
        return take_row(words, *clock, number, line);
    }

    Status finish(const TakeSample& take) override {
        if (columns_ == 0) return plain_error("has no table of memory", "use sar -r or pidstat -r");
        return series_.pass_on(per_process_ ? choice_.value : std::nullopt, "--value", take);
    }

  private:
    static bool is_banner(const Words& words) { return words.front() == "Linux" && words.size() > 2; }
    // "Average:", "Durchschn.:", "Moyenne :"
    static bool is_average(const Words& words) {
        return words.front().ends_with(':') || (words.size() > 1 && words[1] == ":");
    }
    // A header has no word that begins with a digit. Every row of values has such a word.
    static bool is_header(const Words& words) {
        return !words.empty() &&
               std::ranges::none_of(words, [](std::string_view word) { return word.find_first_of("0123456789") == 0; });
    }
    static bool is_about_memory(const Words& words) {
        const auto has = [&](std::string_view word) { return place_of(words, word) < words.size(); };
        return has("kbmemfree") || has("%memused") || (has("RSS") && (has("PID") || has("TGID")));
    }

    // Removes the clock from the front.
    static std::optional<double> take_clock(Words& words) {
        const bool halves = words.size() > 1 && (words[1] == "AM" || words[1] == "PM");
        auto clock = parse_clock(words.front(), halves ? words[1] : std::string_view{});
        if (const auto seconds = parse_decimal(words.front()); seconds && *seconds >= kEarliestDate) clock = seconds;
        if (clock) words.erase(words.begin(), words.begin() + (halves ? 2 : 1));
        return clock;
    }

    Status take_header(const Words& words, std::size_t number, std::string_view line) {
        columns_ = words.size();
        per_process_ = place_of(words, "RSS") < words.size();
        const std::string wanted = per_process_ ? "RSS" : choice_.value.value_or(kUsed);
        value_ = place_of(words, wanted);
        if (value_ == words.size())
            return plain_error(fmt::format("line {}: there is no column '{}'", number, shortened(wanted)),
                               fmt::format("--value is one of: {}", fmt::join(words, ", ")));
        if (wanted.starts_with('%')) return wrong_line(number, "a share is not a size", line);
        name_ = wanted;
        process_ = std::min(place_of(words, "PID"), place_of(words, "TGID"));
        return Done{};
    }

    Status take_row(const Words& words, double clock, std::size_t number, std::string_view line) {
        if (words.size() < columns_) return wrong_line(number, "has fewer columns than its header", line);
        if (!per_process_ && words.size() > columns_)
            return wrong_line(number, "has more columns than its header", line);
        if (per_process_ && words[process_] == "-") return Done{};  // the row of a thread; its process has a row, too
        const auto unit = choice_.unit ? parse_unit(*choice_.unit) : std::optional(kKilobyte);
        const auto size = parse_sample_size(words[value_], unit);
        if (!size) return wrong_line(number, "not a size", line);
        const bool begins_again = last_clock_ && clock < *last_clock_ - kDay / 2;
        if (begins_again && *last_clock_ < kEarliestDate) midnights_ += 1;
        last_clock_ = clock;
        const std::string name = per_process_ ? fmt::format("{} {}", words[process_],
                                                            fmt::join(words.begin() + command_at(), words.end(), " "))
                                              : name_;
        return series_.add(name, midnights_ * kDay + clock, *size, number, line);
    }

    // The last column. A command can contain blanks.
    std::ptrdiff_t command_at() const { return static_cast<std::ptrdiff_t>(columns_) - 1; }

    SeriesChoice choice_;
    NamedSeries series_{};
    std::size_t columns_ = 0;  // 0: no header yet
    std::size_t value_ = 0;
    std::size_t process_ = 0;
    bool per_process_ = false;
    bool in_other_table_ = false;
    std::string name_{};
    std::optional<double> last_clock_{};
    double midnights_ = 0;
};

}  // namespace

std::unique_ptr<SeriesFormat> make_sysstat_series(SeriesChoice choice) {
    return std::make_unique<SysstatSeries>(std::move(choice));
}

}  // namespace memscope
