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
    // Called after the last line: passes the samples of the chosen series to `take`.
    virtual Status finish(const TakeSample& take) = 0;
};

// The format of a file, recognized by the content of its first lines.
//   sysstat: the output of `sar -r` and of `pidstat -r`
//   docker: `docker stats`, as a table or as JSON lines
//   prometheus: the JSON of a range query
//   promtool_text: a range as promtool prints it without -o json; only recognized, for a helpful error
//   csv: columns with a header; nvidia-smi prints them, too
enum class SeriesKind { unknown, sysstat, docker, prometheus, promtool_text, csv };
// The format that a line belongs to. `line` is not empty. `unknown`: the line does not show the format, for example the
// banner of sysstat.
SeriesKind kind_of_line(std::string_view line);

std::unique_ptr<SeriesFormat> make_sysstat_series(SeriesChoice choice);
std::unique_ptr<SeriesFormat> make_docker_series(SeriesChoice choice);
std::unique_ptr<SeriesFormat> make_prometheus_series(SeriesChoice choice);
std::unique_ptr<SeriesFormat> make_csv_series(SeriesChoice choice);

// An error if the user gave an option that the format does not use. `used`: the options that it uses.
Status refuse_options(std::string_view format, const SeriesChoice& choice, std::string_view used);

}  // namespace memscope
