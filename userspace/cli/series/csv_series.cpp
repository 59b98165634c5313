#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

#include "base/text.h"
#include "cli/series/sample_text.h"
#include "cli/series/series_format.h"

namespace memscope {
namespace {

constexpr std::size_t kMostColumns = 1000;

// Cells of a line. A cell in double quotes may contain the separator; "" in it is a quote.
std::vector<std::string> cells_of(std::string_view line, char separator) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
            cells.back() += line[++i];
        else if (c == '"')
            quoted = !quoted;
        else if (c == separator && !quoted)
            cells.emplace_back();
        else
            cells.back() += c;
    }
    for (std::string& cell : cells) cell = trimmed(cell);
    return cells;
}

char separator_of(std::string_view header) {
    for (const char c : {'\t', ';'})
        if (header.find(c) != std::string_view::npos) return c;
    return ',';
}

bool is_time_name(const std::string& name) {
    constexpr std::array<std::string_view, 16> kNames{
        "t",       "t_seconds", "time", "time_s",   "time_seconds", "timestamp", "ts",   "seconds",
        "elapsed", "elapsed_s", "date", "datetime", "date_time",    "epoch",     "unix", "unix_time"};
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return std::ranges::find(kNames, lower) != kNames.end();
}

// The name without its unit: "memory.used" of "memory.used [MiB]".
std::string_view bare(std::string_view name) { return trimmed(name.substr(0, name.find(" ["))); }

// Columns by which nvidia-smi names a GPU.
bool names_gpu(std::string_view name) {
    constexpr std::array<std::string_view, 6> kNames{"index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "serial"};
    return std::ranges::find(kNames, name) != kNames.end();
}

// Columns with a header. The user names the columns of the times and of the values. Otherwise exactly one column must
// have a name that fits.
class CsvSeries : public SeriesFormat {
  public:
    explicit CsvSeries(SeriesChoice choice) : choice_(std::move(choice)) {}

    Status add_line(std::string_view line, std::size_t number) override {
        line = trimmed(line);
        if (line.empty() || line.front() == '#') return Done{};
        if (columns_.empty()) return take_header(line, number);
        if (line == header_) return Done{};  // a repeated header: the program was started again
        return take_row(line, number);
    }

    Status finish(const TakeSample& take) override {
        if (columns_.empty()) return plain_error("is empty", "the first line must be a header");
        if (gpus_.empty()) {
            if (several_gpus())
                return plain_error(
                    "the rows come in groups, as those of several GPUs do, and no column says which GPU it is",
                    "add index: nvidia-smi --query-gpu=timestamp,index,memory.used --format=csv");
            return series_.pass_on({}, "--value", take);
        }
        if (!choice_.gpu) return series_.pass_on({}, "--gpu", take);
        const auto alias = aliases_.find(*choice_.gpu);
        if (alias == aliases_.end()) {
            std::vector<std::string> known;
            known.reserve(aliases_.size());
            for (const auto& [name, key] : aliases_) known.push_back(printable(name));
            known.resize(std::min<std::size_t>(known.size(), 20));
            return plain_error(fmt::format("has no GPU '{}'", shortened(*choice_.gpu)),
                               fmt::format("--gpu is one of: {}", fmt::join(known, ", ")));
        }
        return series_.pass_on(alias->second, "--gpu", take);
    }

  private:
    Status take_header(std::string_view line, std::size_t number) {
        separator_ = separator_of(line);
        header_ = line;
        auto columns = cells_of(line, separator_);
        if (columns.size() < 2 || columns.size() > kMostColumns)
            return plain_error(fmt::format("line {}: not a header of columns: '{}'", number, shortened(line)),
                               "memscope verdict --help lists what can be read");
        const bool nvidia =
            std::ranges::any_of(columns, [](const std::string& name) { return bare(name) == "memory.used"; });
        if (auto refused =
                refuse_options("CSV", choice_, nvidia ? "--time, --value, --unit, --gpu" : "--time, --value, --unit");
            !refused)
            return refused;
        const auto time = choose(columns, choice_.time, "--time", "the times", number, is_time_name);
        if (!time) return time.error();
        time_ = *time;
        std::optional<std::string> wanted = choice_.value;
        if (!wanted && nvidia) wanted = "memory.used";
        const auto value = choose(columns, wanted, "--value", "the sizes", number, [&](const std::string& name) {
            return name != columns[time_] && unit_in_name(name).has_value();
        });
        if (!value) return value.error();
        value_ = *value;
        unit_ = choice_.unit ? parse_unit(*choice_.unit) : unit_in_name(columns[value_]);
        if (nvidia)
            for (std::size_t i = 0; i < columns.size(); ++i)
                if (names_gpu(columns[i])) gpus_.push_back(i);
        if (choice_.gpu && gpus_.empty())
            return plain_error(fmt::format("line {}: no column says which GPU it is", number),
                               "add index: nvidia-smi --query-gpu=timestamp,index,memory.used --format=csv");
        nvidia_ = nvidia;
        columns_ = std::move(columns);
        return Done{};
    }

    template <class Fits>
    static Result<std::size_t> choose(const std::vector<std::string>& columns, const std::optional<std::string>& wanted,
                                      std::string_view option, std::string_view what, std::size_t number, Fits fits) {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < columns.size(); ++i)
            if (wanted ? columns[i] == *wanted : fits(columns[i])) found.push_back(i);
        if (found.empty() && wanted)
            for (std::size_t i = 0; i < columns.size(); ++i)
                if (bare(columns[i]) == *wanted) found.push_back(i);
        if (found.size() == 1) return found.front();
        const std::string names = shortened(printable(fmt::format("{}", fmt::join(columns, ", "))));
        const std::string why =
            wanted ? fmt::format("{} columns are called '{}'", found.empty() ? "no" : "several", shortened(*wanted))
            : found.empty() ? fmt::format("no column is known to have {}", what)
                            : fmt::format("several columns could have {}", what);
        return plain_error(fmt::format("line {}: {}", number, why), fmt::format("name it with {}: {}", option, names));
    }

    Status take_row(std::string_view line, std::size_t number) {
        const auto cells = cells_of(line, separator_);
        if (cells.size() != columns_.size())
            return wrong_line(
                number, fmt::format("has {} columns, and the header has {}", cells.size(), columns_.size()), line);
        const auto time = parse_sample_time(cells[time_]);
        if (!time) return wrong_line(number, "not a time", line);
        const auto size = parse_sample_size(cells[value_], unit_);
        if (!size && !unit_ && parse_decimal(cells[value_]))
            return plain_error(
                fmt::format("line {}: the unit of '{}' is not known", number, shortened(columns_[value_])),
                "give it, as in --unit kB");
        if (!size) return wrong_line(number, "not a size", line);
        if (nvidia_ && gpus_.empty()) note_gap(*time);
        std::string key = columns_[value_];
        if (!gpus_.empty()) {
            key = cells[gpus_.front()];
            for (const std::size_t i : gpus_)
                if (aliases_.size() < kMostColumns) aliases_.emplace(cells[i], key);
        }
        return series_.add(key, *time, *size, number, line);
    }

    // Detects the rows of several GPUs: nvidia-smi prints a row for each GPU within a few milliseconds, then waits.
    void note_gap(double time) {
        constexpr double kAtOnce = 0.05, kWait = 0.25;
        if (last_) {
            at_once_ |= time - *last_ < kAtOnce;
            waits_ |= time - *last_ > kWait;
        }
        last_ = time;
    }
    bool several_gpus() const { return at_once_ && waits_; }

    SeriesChoice choice_;
    NamedSeries series_{};
    std::string header_{};
    std::vector<std::string> columns_{};  // empty: no header yet
    char separator_ = ',';
    std::size_t time_ = 0;
    std::size_t value_ = 0;
    std::optional<double> unit_{};
    bool nvidia_ = false;
    std::vector<std::size_t> gpus_{};               // columns that name the GPU
    std::map<std::string, std::string> aliases_{};  // any name of a GPU -> its name in the first of `gpus_`
    std::optional<double> last_{};
    bool at_once_ = false;
    bool waits_ = false;
};

}  // namespace

std::unique_ptr<SeriesFormat> make_csv_series(SeriesChoice choice) {
    return std::make_unique<CsvSeries>(std::move(choice));
}

}  // namespace memscope
