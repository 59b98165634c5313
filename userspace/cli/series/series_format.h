#pragma once
#include <memory>
#include <string_view>

#include "base/result.h"
#include "cli/series/named_series.h"

namespace memscope {

// Reads one format line by line.
class SeriesFormat {
  public:
    virtual ~SeriesFormat() = default;
    virtual Status add_line(std::string_view line, std::size_t number) = 0;
    // After the last line: passes the samples of the chosen series on.
    virtual Status finish(const TakeSample& take) = 0;
};

// Whether the lines so far are the beginning of a format, by their content.
//   sysstat: the output of `sar -r` and of `pidstat -r`
//   docker: `docker stats`, as a table or as JSON lines
//   prometheus: the JSON of a range query
//   promtool_text: a range as promtool prints it without -o json; only recognized
//   csv: columns with a header; nvidia-smi prints them, too
enum class SeriesKind { unknown, sysstat, docker, prometheus, promtool_text, csv };
// Of a line that is not empty. `unknown`: a line that says nothing yet, as the banner of sysstat.
SeriesKind kind_of_line(std::string_view line);

std::unique_ptr<SeriesFormat> make_sysstat_series(SeriesChoice choice);
std::unique_ptr<SeriesFormat> make_docker_series(SeriesChoice choice);
std::unique_ptr<SeriesFormat> make_prometheus_series(SeriesChoice choice);
std::unique_ptr<SeriesFormat> make_csv_series(SeriesChoice choice);

// The error for options that a format has no use for, or none.
Status refuse_options(std::string_view format, const SeriesChoice& choice, std::string_view used);

}  // namespace memscope
