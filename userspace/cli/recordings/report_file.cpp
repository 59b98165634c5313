#include "cli/recordings/report_file.h"

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <rapidjson/encodedstream.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "base/base64.h"
#include "outputs/deaths/death_report_json.h"
#include "record/record.h"

namespace memscope {
namespace {

constexpr int kDeepest = 12;  // a report has 8 levels
// Elements of a list in a report. A list that a watched process can fill has at most 301 elements. The list of the
// holders of a GPU can have some hundreds.
constexpr std::size_t kMostElements = 10'000;
// The time to draw the process tree is quadratic in its depth.
constexpr std::size_t kMostProcesses = 1000;
constexpr const char* kAdvice = "name a file that memscope has written";

// Copies the JSON without the record, checks its depth, and keeps the values of the outermost object that are needed
// here.
class Copy : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Copy> {
  public:
    bool Null() { return plain() && writer_.Null(); }
    bool Bool(bool value) { return plain() && writer_.Bool(value); }
    bool Int(int value) { return whole(value) && writer_.Int(value); }
    bool Uint(unsigned value) { return whole(value) && writer_.Uint(value); }
    bool Int64(std::int64_t value) { return plain() && writer_.Int64(value); }
    bool Uint64(std::uint64_t value) { return plain() && writer_.Uint64(value); }
    bool Double(double value) { return plain() && writer_.Double(value); }
    bool String(const char* data, rapidjson::SizeType size, bool) {
        const std::string_view text(data, size);
        const bool outer = depth_ == 1;
        if (outer && key_ == "report") kind = text;
        if (outer && key_ == kRecordKey) {
            record = text;
            return true;
        }
        return plain() && writer_.String(data, size);
    }
    bool Key(const char* data, rapidjson::SizeType size, bool) {
        if (depth_ == 1) key_.assign(data, size);
        return is_record() || writer_.Key(data, size);
    }
    bool StartObject() { return begin() && writer_.StartObject(); }
    bool EndObject(rapidjson::SizeType) {
        --depth_;
        return writer_.EndObject();
    }
    bool StartArray() { return begin() && writer_.StartArray(); }
    bool EndArray(rapidjson::SizeType) {
        --depth_;
        return writer_.EndArray();
    }

    // ASCII without control characters. rapidjson escapes all of them but DEL, which can occur in strings only.
    std::string text() const {
        std::string out;
        for (const char c : std::string_view(buffer_.GetString(), buffer_.GetSize()))
            if (c == '\x7f')
                out += "\\u007F";
            else
                out += c;
        return out;
    }

    std::string kind{};
    std::optional<std::int64_t> version{};
    std::optional<std::string> record{};

  private:
    bool is_record() const { return depth_ == 1 && key_ == kRecordKey; }
    bool plain() const { return !is_record(); }  // false for a record that is not a string: this ends the copy
    bool whole(std::int64_t value) {
        if (depth_ == 1 && key_ == "version") version = value;
        return plain();
    }
    bool begin() { return plain() && ++depth_ <= kDeepest; }

    int depth_ = 0;
    std::string key_{};  // the latest key of the outermost object
    rapidjson::StringBuffer buffer_{};
    rapidjson::Writer<rapidjson::StringBuffer, rapidjson::UTF8<>, rapidjson::ASCII<>> writer_{buffer_};
};

Status check(std::string_view text, Copy& copy) {
    // The parser is iterative, so that deep nesting does not overflow the stack. Numbers are read with full precision,
    // so that they are printed as they were written.
    constexpr unsigned kFlags =
        rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag | rapidjson::kParseValidateEncodingFlag;
    rapidjson::MemoryStream stream(text.data(), text.size());
    rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> input(stream);
    rapidjson::Reader reader;
    if (const auto parsed = reader.Parse<kFlags>(input, copy); parsed.IsError())
        return plain_error(parsed.Code() == rapidjson::kParseErrorTermination
                               ? "is nested too deeply, or has a record that is not a string"
                               : "is not JSON, or is incomplete",
                           kAdvice);
    if (copy.kind != "death" || !copy.version) return plain_error("is not a death report", kAdvice);
    if (copy.version != kDeathReportVersion)
        return plain_error(fmt::format("is a report of another version than {}", kDeathReportVersion),
                           "use the version of memscope that wrote it");
    return Done{};
}

}  // namespace

Result<DeathReport> parse_report(std::string_view text) {
    Copy copy;
    if (auto checked = check(text, copy); !checked) return checked.error();
    if (!copy.record)
        return plain_error("has no record, so it can only be shown with --json",
                           "name the original file that memscope has written");
    const auto bytes = from_base64(*copy.record);
    if (!bytes) return plain_error("has a damaged record: it is not base64", kAdvice);
    auto report = decode_record<DeathReport>(*bytes);
    if (!report) return plain_error("has a record that " + report.error().where);
    if (report->deaths.empty()) return plain_error("contains no death", kAdvice);
    if (report->then.targets.empty()) return plain_error("has no target", kAdvice);
    for (const TargetSnapshot& target : report->then.targets)
        if (target.processes.size() > kMostProcesses) return plain_error("has more processes than a report may have");
    if (auto limited = limit_untrusted(*report, kMostElements); !limited) return limited.error();
    return report;
}

Result<std::string> report_as_json(std::string_view text) {
    Copy copy;
    if (auto checked = check(text, copy); !checked) return checked.error();
    return copy.text() + "\n";
}

}  // namespace memscope
