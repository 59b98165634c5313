#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace memscope {

// A recorded series as text: a header `t_seconds,bytes`, then one sample per line. Other columns are ignored, as are
// empty lines and lines that begin with #. The file may have any length, because each sample is passed on when it is
// read.
class PlainSeries {
  public:
    using Take = std::function<void(Seconds, Bytes)>;

    explicit PlainSeries(Take take) : take_(std::move(take)) {}

    void skip_lines(std::size_t lines) { line_ += lines; }  // lines of the file before the first add_line()
    Status add_line(std::string_view line);
    Status finish() const;  // an error if there was no header

  private:
    Status add_header(std::string_view line);
    Error wrong(std::string_view what, std::string_view line) const;

    Take take_;
    std::size_t line_ = 0;
    std::size_t columns_ = 0;  // 0: the header was not read yet
    std::optional<double> last_{};
};

}  // namespace memscope
