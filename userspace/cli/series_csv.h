#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace memscope {

// A recorded series as text: a header `t_seconds,bytes`, then one sample a line. Further columns are passed over, as
// are empty lines and those that begin with #. Of any length: each sample is handed on as soon as it is read.
class SeriesCsv {
  public:
    using Take = std::function<void(Seconds, Bytes)>;

    explicit SeriesCsv(Take take) : take_(std::move(take)) {}

    Status add_line(std::string_view line);
    Status finish() const;  // an error if not even the header was there

  private:
    Status add_header(std::string_view line);
    Error wrong(std::string_view what, std::string_view line) const;

    Take take_;
    std::size_t line_ = 0;
    std::size_t columns_ = 0;  // 0: the header is still to come
    std::optional<double> last_{};
};

// From a file, or from standard input if the path is "-". Errors name the file and the line.
Status read_series_csv(const std::string& path, const SeriesCsv::Take& take);

}  // namespace memscope
