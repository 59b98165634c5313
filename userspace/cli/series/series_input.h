#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/series/named_series.h"
#include "cli/series/plain_series.h"
#include "cli/series/series_format.h"

namespace memscope {

// Reads a recorded series in one of the known formats (SeriesKind). Recognizes the format by the first lines. A file
// with the header t_seconds,bytes may have any length, because its samples are passed on when they are read.
class SeriesInput {
  public:
    SeriesInput(SeriesChoice choice, TakeSample take) : choice_(std::move(choice)), take_(std::move(take)) {}

    Status add_line(std::string_view line);
    Status finish();

  private:
    Status begin(std::string_view line);

    SeriesChoice choice_;
    TakeSample take_;
    std::size_t lines_ = 0;
    std::optional<PlainSeries> plain_{};
    std::unique_ptr<SeriesFormat> format_{};
};

// Reads a file, or standard input if the path is "-". Errors name the file and the line.
Status read_series(const std::string& path, const SeriesChoice& choice, const TakeSample& take);

}  // namespace memscope
