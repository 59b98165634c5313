#include <fmt/format.h>
#include <map>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <set>

#include "base/text.h"
#include "cli/series/sample_text.h"
#include "cli/series/series_format.h"

namespace memscope {
namespace {

constexpr std::string_view kMemory = "MEM USAGE / LIMIT";

// Removes the sequences with which `docker stats` clears the terminal between two tables.
std::string without_escapes(std::string_view line) {
    std::string out;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] != '\x1b') {
            out += line[i];
            continue;
        }
        if (i + 1 < line.size() && line[i + 1] == '[') {
            i += 2;
            while (i < line.size() && (line[i] < '@' || line[i] > '~')) ++i;
        }
    }
    return out;
}

// The strings of the outermost object.
class DockerFields : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, DockerFields> {
  public:
    bool Key(const char* data, rapidjson::SizeType size, bool) {
        if (depth_ == 1) key_ = std::string(data, size);
        return true;
    }
    bool String(const char* data, rapidjson::SizeType size, bool) {
        if (depth_ == 1) values[key_] = std::string(data, size);
        return true;
    }
    bool StartObject() { return enter(); }
    bool StartArray() { return enter(); }
    bool EndObject(rapidjson::SizeType) { return leave(); }
    bool EndArray(rapidjson::SizeType) { return leave(); }

    std::string name() {
        for (const char* key : {"Name", "Container", "ID"})
            if (!values[key].empty()) return values[key];
        return {};
    }

    std::map<std::string, std::string> values{};

  private:
    bool enter() {
        ++depth_;
        return true;
    }
    bool leave() {
        --depth_;
        return true;
    }

    int depth_ = 0;
    std::string key_{};
};

// The output of repeated `docker stats`: tables with a header each, or one JSON object per line and container. Docker
// prints no times, so the time must be in front of each JSON object, or the user must give the interval.
class DockerSeries : public SeriesFormat {
  public:
    explicit DockerSeries(SeriesChoice choice) : choice_(std::move(choice)) {}

    Status add_line(std::string_view raw, std::size_t number) override {
        if (auto refused = refuse_options("docker stats", choice_, "--value, --interval"); !refused) return refused;
        const std::string line = without_escapes(raw);
        if (trimmed(line).empty()) return Done{};
        if (const auto brace = line.find('{'); brace != std::string::npos) return take_json(line, brace, number);
        if (line.find(kMemory) != std::string::npos) return take_header(line, number);
        return take_row(line, number);
    }

    Status finish(const TakeSample& take) override {
        if (series_.empty()) return plain_error("has no memory of a container");
        return series_.pass_on(choice_.value, "--value", take);
    }

  private:
    Status take_header(const std::string& line, std::size_t number) {
        const auto name = line.find("NAME");
        const auto id = line.find("CONTAINER");
        memory_at_ = line.find(kMemory);
        name_at_ = name != std::string::npos ? name : id;
        if (name_at_ == std::string::npos || name_at_ > memory_at_)
            return wrong_line(number, "a table without the names of the containers", line);
        begin_round();
        return Done{};
    }

    // The columns of a table begin where their headings begin.
    Status take_row(const std::string& line, std::size_t number) {
        if (memory_at_ == 0) return wrong_line(number, "a row before the header", line);
        if (line.size() <= memory_at_) return wrong_line(number, "has fewer columns than its header", line);
        const auto words = words_of(std::string_view(line).substr(name_at_));
        if (words.empty()) return wrong_line(number, "has no name", line);
        std::string_view memory = std::string_view(line).substr(memory_at_);
        return add(std::string(words.front()), memory, std::nullopt, number, line);
    }

    Status take_json(const std::string& line, std::size_t brace, std::size_t number) {
        DockerFields fields;
        rapidjson::MemoryStream stream(line.data() + brace, line.size() - brace);
        rapidjson::Reader reader;
        constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
        if (reader.Parse<kFlags>(stream, fields).IsError()) return wrong_line(number, "not a JSON object", line);
        const std::string name = fields.name();
        const std::string& memory = fields.values["MemUsage"];
        if (name.empty() || memory.empty())
            return wrong_line(number, "has no name or no MemUsage of a container", line);
        const std::string_view before = trimmed(std::string_view(line).substr(0, brace));
        std::optional<double> time;
        if (!before.empty()) {
            time = parse_sample_time(before);
            if (!time) return wrong_line(number, "not a time before the JSON object", line);
        }
        if (seen_.contains(name)) begin_round();
        return add(name, memory, time, number, line);
    }

    void begin_round() {
        if (!seen_.empty()) ++round_;
        seen_.clear();
    }

    // "1.5GiB / 7.6GiB"; "-- / --" of a container that has ended.
    Status add(const std::string& name, std::string_view memory, std::optional<double> time, std::size_t number,
               std::string_view line) {
        seen_.insert(name);
        const std::string_view used = trimmed(memory.substr(0, memory.find('/')));
        if (used == "--") return Done{};
        const auto size = parse_sample_size(used, std::nullopt);
        if (!size) return wrong_line(number, "not a size", line);
        if (!time && !choice_.interval)
            return plain_error(fmt::format("line {}: docker stats prints no times", number),
                               "give the time between two answers, as in --interval 5s");
        return series_.add(name, time ? *time : static_cast<double>(round_) * choice_.interval->count(), *size, number,
                           line);
    }

    SeriesChoice choice_;
    NamedSeries series_{};
    std::size_t memory_at_ = 0;  // 0: no header yet
    std::size_t name_at_ = 0;
    std::set<std::string> seen_{};  // containers of this round
    std::uint64_t round_ = 0;
};

}  // namespace

std::unique_ptr<SeriesFormat> make_docker_series(SeriesChoice choice) {
    return std::make_unique<DockerSeries>(std::move(choice));
}

}  // namespace memscope
