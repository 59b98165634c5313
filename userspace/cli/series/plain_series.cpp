#include "cli/series/plain_series.h"

#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/series/sample_text.h"

namespace memscope {
namespace {

constexpr const char* kForm = "the file must be CSV with the header t_seconds,bytes";

}  // namespace

Error PlainSeries::wrong(std::string_view what, std::string_view line) const {
    return plain_error(fmt::format("line {}: {}: '{}'", line_, what, shortened(line)), kForm);
}

Status PlainSeries::add_header(std::string_view line) {
    const auto names = split(line, ',');
    if (names.size() < 2 || trimmed(names[0]) != "t_seconds" || trimmed(names[1]) != "bytes")
        return wrong("not the header t_seconds,bytes", line);
    columns_ = names.size();
    return Done{};
}

Status PlainSeries::add_line(std::string_view line) {
    ++line_;
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (line_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    line = trimmed(line);
    if (line.empty() || line.front() == '#') return Done{};
    if (columns_ == 0) return add_header(line);
    const auto cells = split(line, ',');
    if (cells.size() != columns_) return wrong("not a time and a size", line);
    const auto time = parse_decimal(cells[0]);
    const auto bytes = parse_decimal(cells[1]);
    if (!time || !bytes) return wrong("not a time and a size", line);
    if (std::abs(*time) > kLargestTime) return wrong("the time is out of range", line);
    if (*bytes < 0 || *bytes > kLargestSize) return wrong("the size is out of range", line);
    if (last_ && *time < *last_) return wrong("the time is before that of the previous line", line);
    last_ = time;
    take_(Seconds(*time), Bytes{static_cast<std::uint64_t>(*bytes)});
    return Done{};
}

Status PlainSeries::finish() const {
    if (columns_ == 0) return plain_error("is empty", kForm);
    return Done{};
}

}  // namespace memscope
