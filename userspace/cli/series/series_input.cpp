#include "cli/series/series_input.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/series/sample_text.h"

namespace memscope {
namespace {

constexpr const char* kForms = "memscope verdict --help lists what can be read";
constexpr std::size_t kLongestLine = 65536;                   // bounds the memory for a file without newlines
constexpr std::size_t kLongestJson = std::size_t{64} << 20U;  // an answer of Prometheus is one line

bool is_too_long(std::string_view line) {
    const auto begin = line.find_first_not_of(" \t");
    const bool json = begin != std::string_view::npos && (line[begin] == '{' || line[begin] == '[');
    return line.size() > (json ? kLongestJson : kLongestLine);
}

bool is_plain_header(std::string_view line) {
    const auto names = split(line, ',');
    return names.size() >= 2 && trimmed(names[0]) == "t_seconds" && trimmed(names[1]) == "bytes";
}

// Reads the file in pieces and passes whole lines on.
Status read_lines(int fd, SeriesInput& input) {
    std::string pending;
    char buffer[65536];
    for (;;) {
        const ssize_t n = ::read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return system_error(errno, "read");
        if (n == 0) break;
        std::string_view text(buffer, static_cast<std::size_t>(n));
        for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
            pending += text.substr(0, end);
            if (auto added = input.add_line(pending); !added) return added;
            pending.clear();
            text.remove_prefix(end + 1);
        }
        pending += text;
        if (is_too_long(pending)) return plain_error("a line is longer than 64 KiB, or JSON than 64 MiB", kForms);
    }
    return pending.empty() ? Status(Done{}) : input.add_line(pending);
}

}  // namespace

SeriesKind kind_of_line(std::string_view line) {
    line = trimmed(line);
    if (line.find("\"MemUsage\"") != std::string_view::npos) return SeriesKind::docker;
    if (line.find("MEM USAGE / LIMIT") != std::string_view::npos) return SeriesKind::docker;
    if (line.starts_with('{') || line.starts_with('[')) return SeriesKind::prometheus;
    const auto words = words_of(line);
    const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
    if (has("kbmemused") || (has("RSS") && (has("PID") || has("TGID")))) return SeriesKind::sysstat;
    if (has("UID") && (has("PID") || has("TGID"))) return SeriesKind::sysstat;
    if (has("LINUX") && has("RESTART")) return SeriesKind::unknown;
    if (words.size() > 2 && words.front() == "Linux" && words[2].starts_with('(')) return SeriesKind::unknown;
    if (line.starts_with('#')) return SeriesKind::unknown;           // a comment line of CSV
    if (parse_clock(words.front(), "")) return SeriesKind::sysstat;  // of sysstat; the table of memory may follow
    if (line.ends_with(" =>")) return SeriesKind::promtool_text;
    return SeriesKind::csv;
}

Status refuse_options(std::string_view format, const SeriesChoice& choice, std::string_view used) {
    const std::array<std::pair<std::string_view, bool>, 5> given{{{"--time", choice.time.has_value()},
                                                                  {"--value", choice.value.has_value()},
                                                                  {"--unit", choice.unit.has_value()},
                                                                  {"--gpu", choice.gpu.has_value()},
                                                                  {"--interval", choice.interval.has_value()}}};
    for (const auto& [option, is_given] : given)
        if (is_given && used.find(option) == std::string_view::npos)
            return plain_error(fmt::format("{} does not apply to {}", option, format),
                               fmt::format("options for it: {}", used));
    return Done{};
}

Status SeriesInput::begin(std::string_view line) {
    switch (kind_of_line(line)) {
        case SeriesKind::unknown:
            return Done{};
        case SeriesKind::sysstat:
            format_ = make_sysstat_series(choice_);
            return Done{};
        case SeriesKind::docker:
            format_ = make_docker_series(choice_);
            return Done{};
        case SeriesKind::prometheus:
            format_ = make_prometheus_series(choice_);
            return Done{};
        case SeriesKind::promtool_text:
            return plain_error("is the text output of promtool, which memscope cannot read",
                               "use promtool query range -o json");
        case SeriesKind::csv:
            break;
    }
    const bool nothing_chosen = !choice_.time && !choice_.value && !choice_.unit;
    if (is_plain_header(line) && nothing_chosen) {
        if (auto refused = refuse_options("CSV", choice_, "--time, --value, --unit"); !refused) return refused;
        plain_.emplace(take_);
        plain_->skip_lines(lines_ - 1);
    } else {
        format_ = make_csv_series(choice_);
    }
    return Done{};
}

Status SeriesInput::add_line(std::string_view line) {
    ++lines_;
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (lines_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!plain_ && !format_) {
        if (trimmed(line).empty()) return Done{};
        if (auto begun = begin(line); !begun) return begun;
    }
    if (plain_) return plain_->add_line(line);
    return format_ ? format_->add_line(line, lines_) : Status(Done{});
}

Status SeriesInput::finish() {
    if (plain_) return plain_->finish();
    if (format_) return format_->finish(take_);
    return plain_error(lines_ == 0 ? "is empty" : "has no series", kForms);
}

Status read_series(const std::string& path, const SeriesChoice& choice, const TakeSample& take) {
    const bool standard_input = path == "-";
    const std::string name = standard_input ? "standard input" : path;
    Fd file;
    if (!standard_input) {
        file = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
        if (!file) return system_error(errno, "open " + name, kForms);
    }
    SeriesInput input(choice, take);
    const auto in_file = [&](const Error& error) { return Error{error.code, name + ": " + error.where, error.advice}; };
    if (auto read = read_lines(standard_input ? STDIN_FILENO : file.get(), input); !read) return in_file(read.error());
    if (auto finished = input.finish(); !finished) return in_file(finished.error());
    return Done{};
}

}  // namespace memscope
