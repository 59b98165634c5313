#pragma once
#include <cstdint>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "outputs/growth/growth_report.h"

namespace memscope {

// Reproducible: the gzip header contains no time.
std::string gzipped(std::string_view bytes);

// Writes pprof's profile.proto with every name, function, file and location once. Makes names printable, because pprof
// shows them unchanged.
class ProfileProto {
  public:
    using Labels = std::vector<std::pair<std::string, std::variant<std::string, std::int64_t>>>;

    ProfileProto() { text(""); }  // the first string must be empty

    void add_sample_type(std::string_view type, std::string_view unit);
    void set_default(std::string_view sample_type);  // also the type of the period, which is one byte
    void set_time(double unix_seconds);
    void add_comment(std::string_view comment);

    std::uint64_t location(std::string_view function, std::string_view file, int line);  // line 0: not known
    std::uint64_t location(std::string_view module, std::uint64_t offset, std::string_view symbol);
    // Locations innermost first; one value for each sample type.
    void add_sample(const std::vector<std::uint64_t>& locations, std::span<const std::int64_t> values,
                    const Labels& labels);

    std::string finish() &&;  // not compressed

  private:
    std::int64_t text(std::string_view bytes);
    std::uint64_t function(std::int64_t name, std::int64_t file);
    std::uint64_t mapping(std::int64_t module);
    std::uint64_t write_location(std::uint64_t mapping, std::uint64_t address, std::uint64_t function, int line);

    using Pair = std::pair<std::int64_t, std::int64_t>;
    std::string data_{};
    protozero::pbf_writer writer_{data_};
    std::map<std::string, std::int64_t> texts_{};
    std::map<Pair, std::uint64_t> functions_{};
    std::map<std::int64_t, std::uint64_t> mappings_{};
    std::map<std::pair<std::uint64_t, std::int64_t>, std::uint64_t> python_{};  // by function and line
    std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::uint64_t> native_{};
    std::uint64_t locations_ = 0;
};

// A gzipped profile for `pprof` and other readers of its format: sample types resident, mapped, tensors_host, gpu and
// pinned, in bytes. A call site that is in several planes is one sample with several values.
std::string growth_pprof(const GrowthReport& report);

}  // namespace memscope
