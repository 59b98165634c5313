#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include "base/text.h"
#include "cli/series/sample_text.h"
#include "cli/series/series_format.h"

namespace memscope {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
constexpr std::size_t kMostLabels = 4096;  // bytes of the labels of a series

// Follows {"metric":{...},"values":[[time,"value"],...]} at any depth, because the API wraps the list of series in an
// object and promtool does not.
class RangeHandler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, RangeHandler> {
  public:
    RangeHandler(NamedSeries& series, double unit) : series_(series), unit_(unit) {}

    bool Key(const char* data, rapidjson::SizeType size, bool) {
        const std::string_view key(data, size);
        if (metric_depth_ == depth_ && metric_depth_ > 0) {
            label_ = key;
            return true;
        }
        key_ = key;
        return true;
    }
    bool String(const char* data, rapidjson::SizeType size, bool) {
        const std::string_view text(data, size);
        if (metric_depth_ == depth_ && metric_depth_ > 0) {
            label_bytes_ += label_.size() + size;
            if (label_bytes_ > kMostLabels) return refuse("the labels of a series are too long");
            labels_[label_] = text;
        } else if (values_depth_ > 0 && depth_ == values_depth_ + 1) {
            return take_value(text);
        } else if (key_ == "error" && depth_ == 1) {
            return refuse("the query failed: " + shortened(text));
        } else if (key_ == "resultType") {
            if (text != "matrix")
                return refuse(fmt::format("has a result of the type '{}', not a range", shortened(text)));
            is_range = true;
        }
        return true;
    }
    bool Double(double number) { return take_time(number); }
    bool Int(int number) { return take_time(number); }
    bool Uint(unsigned number) { return take_time(number); }
    bool Int64(std::int64_t number) { return take_time(static_cast<double>(number)); }
    bool Uint64(std::uint64_t number) { return take_time(static_cast<double>(number)); }
    bool StartObject() {
        ++depth_;
        if (key_ == "metric" && metric_depth_ == 0) {
            metric_depth_ = depth_;
            labels_.clear();
            label_bytes_ = 0;
        }
        return true;
    }
    bool EndObject(rapidjson::SizeType) {
        if (metric_depth_ == depth_) {
            metric_depth_ = 0;
            name_ = name();
            key_.clear();
        }
        --depth_;
        return true;
    }
    bool StartArray() {
        ++depth_;
        if (key_ == "values" && values_depth_ == 0) values_depth_ = depth_;
        time_.reset();
        return true;
    }
    bool EndArray(rapidjson::SizeType) {
        if (values_depth_ == depth_) {
            values_depth_ = 0;
            key_.clear();
        }
        --depth_;
        return true;
    }

    std::optional<Error> error{};
    bool is_range = false;  // the API reports that; promtool does not

  private:
    bool take_time(double number) {
        if (values_depth_ > 0 && depth_ == values_depth_ + 1 && !time_) time_ = number;
        return true;
    }
    bool take_value(std::string_view text) {
        if (!time_) return refuse("a value has no time");
        if (text == "NaN") return true;  // Prometheus writes NaN if there is no value
        const auto number = parse_decimal(text);
        if (!number) return refuse(fmt::format("not a number: '{}'", shortened(text)));
        ++count_;
        if (auto added = series_.add(name_, *time_, *number * unit_, count_, text); !added) {
            error = plain_error(fmt::format("sample {} of all: {}", count_, added.error().where));
            return false;
        }
        return true;
    }
    bool refuse(std::string what) {
        error = plain_error(std::move(what));
        return false;
    }
    // As in PromQL: name{a="b"}
    std::string name() const {
        std::string text;
        std::string braces;
        for (const auto& [label, value] : labels_) {
            if (label == "__name__")
                text = value;
            else
                braces += fmt::format("{}{}=\"{}\"", braces.empty() ? "" : ",", label, value);
        }
        return braces.empty() && !text.empty() ? text : text + "{" + braces + "}";
    }

    NamedSeries& series_;
    double unit_;
    int depth_ = 0;
    int metric_depth_ = 0;  // 0: not in the labels of a series
    int values_depth_ = 0;  // 0: not in the values of a series
    std::string key_{};
    std::string label_{};
    std::map<std::string, std::string> labels_{};
    std::size_t label_bytes_ = 0;
    std::string name_{};
    std::optional<double> time_{};
    std::size_t count_ = 0;
};

class PrometheusSeries : public SeriesFormat {
  public:
    explicit PrometheusSeries(SeriesChoice choice) : choice_(std::move(choice)) {}

    Status add_line(std::string_view line, std::size_t number) override {
        if (text_.size() + line.size() > kMostBytes)
            return plain_error(fmt::format("line {}: the JSON is larger than 64 MiB", number),
                               "query a shorter range or a larger step");
        first_ = first_ == 0 ? number : first_;
        text_ += line;
        text_ += '\n';
        return Done{};
    }

    Status finish(const TakeSample& take) override {
        if (auto refused = refuse_options("Prometheus", choice_, "--value, --unit"); !refused) return refused;
        const double unit = choice_.unit ? parse_unit(*choice_.unit).value_or(1) : 1;
        NamedSeries series;
        RangeHandler handler(series, unit);
        rapidjson::MemoryStream stream(text_.data(), text_.size());
        rapidjson::Reader reader;
        constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
        if (const auto parsed = reader.Parse<kFlags>(stream, handler); parsed.IsError()) {
            const auto line =
                first_ +
                static_cast<std::size_t>(std::count(
                    text_.begin(),
                    text_.begin() + static_cast<std::ptrdiff_t>(std::min(parsed.Offset(), text_.size() - 1)), '\n'));
            return plain_error(
                fmt::format("line {}: {}", line,
                            handler.error ? handler.error->where : rapidjson::GetParseError_En(parsed.Code())),
                handler.error ? handler.error->advice : "");
        }
        if (series.empty() && (handler.is_range || trimmed(text_) == "[]"))
            return plain_error("the query found no samples", "check its labels and its times");
        if (series.empty())
            return plain_error("the JSON has no range of Prometheus",
                               "use the answer of /api/v1/query_range, or promtool query range -o json");
        return series.pass_on(choice_.value, "--value", take);
    }

  private:
    SeriesChoice choice_;
    std::string text_{};
    std::size_t first_ = 0;  // number of the first line
};

}  // namespace

std::unique_ptr<SeriesFormat> make_prometheus_series(SeriesChoice choice) {
    return std::make_unique<PrometheusSeries>(std::move(choice));
}

}  // namespace memscope
