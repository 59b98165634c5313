#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/series.h"

namespace memscope {

// A recorded series as text: a header `t_seconds,bytes`, then one sample a line. Further columns are passed over, as
// are empty lines and those that begin with #. Of any length; what is kept of it is bounded.
class SeriesCsv {
  public:
    Status add_line(std::string_view line);
    Result<Series> finish();  // an error if not even the header was there

  private:
    Status add_header(std::string_view line);
    Error wrong(std::string_view what, std::string_view line) const;

    Series series_{};
    std::size_t line_ = 0;
    std::size_t columns_ = 0;  // 0: the header is still to come
    std::optional<double> last_{};
};

// From a file, or from standard input if the path is "-". Errors name the file and the line.
Result<Series> read_series_csv(const std::string& path);

}  // namespace memscope
