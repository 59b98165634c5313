#include "outputs/growth/growth_pprof.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <new>
#include <set>
#include <stdexcept>
#include <tuple>
#include <zlib.h>

#include "base/text.h"
#include "base/version.h"
#include "outputs/growth/growth_frames.h"

namespace memscope {

std::string gzipped(std::string_view bytes) {
    constexpr int kGzip = 16 + MAX_WBITS;  // gzip's header, and the largest window
    constexpr int kUsualMemory = 8;
    z_stream stream{};
    if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kUsualMemory, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc();
    std::string out(::deflateBound(&stream, bytes.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib only reads it
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int ended = ::deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    ::deflateEnd(&stream);
    if (ended != Z_STREAM_END || bytes.size() > UINT32_MAX) throw std::length_error("gzipped");
    return out;
}

namespace {

using protozero::pbf_writer;

// Field numbers of profile.proto.
namespace profile {
enum : std::uint32_t {
    sample_type = 1,
    sample = 2,
    mapping = 3,
    location = 4,
    function = 5,
    string_table = 6,
    time_nanos = 9,
    period_type = 11,
    period = 12,
    comment = 13,
    default_sample_type = 14
};
}
namespace value_type {
enum : std::uint32_t { type = 1, unit = 2 };
}
namespace sample {
enum : std::uint32_t { location_id = 1, value = 2, label = 3 };
}
namespace label {
enum : std::uint32_t { key = 1, str = 2, num = 3 };
}
namespace mapping_field {
enum : std::uint32_t { id = 1, memory_limit = 3, filename = 5, has_functions = 7 };
}
namespace location_field {
enum : std::uint32_t { id = 1, mapping_id = 2, address = 3, line = 4 };
}
namespace line_field {
enum : std::uint32_t { function_id = 1, line = 2 };
}
namespace function_field {
enum : std::uint32_t { id = 1, name = 2, filename = 4 };
}

}  // namespace

std::int64_t ProfileProto::text(std::string_view bytes) {
    return texts_.emplace(printable(bytes), static_cast<std::int64_t>(texts_.size())).first->second;
}

void ProfileProto::add_sample_type(std::string_view type, std::string_view unit) {
    pbf_writer writer(writer_, profile::sample_type);
    writer.add_int64(value_type::type, text(type));
    writer.add_int64(value_type::unit, text(unit));
}

void ProfileProto::set_default(std::string_view sample_type) {
    writer_.add_int64(profile::default_sample_type, text(sample_type));
    writer_.add_int64(profile::period, 1);
    pbf_writer writer(writer_, profile::period_type);
    writer.add_int64(value_type::type, text(sample_type));
    writer.add_int64(value_type::unit, text("bytes"));
}

void ProfileProto::set_time(double unix_seconds) {
    constexpr double kMost = 9e9;  // seconds; as nanoseconds still below 2^63
    if (unix_seconds > 0 && unix_seconds < kMost)
        writer_.add_int64(profile::time_nanos, std::llround(unix_seconds * 1e9));
}

void ProfileProto::add_comment(std::string_view comment) { writer_.add_int64(profile::comment, text(comment)); }

std::uint64_t ProfileProto::function(std::int64_t name, std::int64_t file) {
    const auto [found, added] = functions_.emplace(Pair{name, file}, functions_.size() + 1);
    if (!added) return found->second;
    // No system_name: pprof would demangle it, and would treat Python's <module> as a C++ template.
    pbf_writer writer(writer_, profile::function);
    writer.add_uint64(function_field::id, found->second);
    writer.add_int64(function_field::name, name);
    writer.add_int64(function_field::filename, file);
    return found->second;
}

std::uint64_t ProfileProto::mapping(std::int64_t module) {
    const auto [found, added] = mappings_.emplace(module, mappings_.size() + 1);
    if (!added) return found->second;
    pbf_writer writer(writer_, profile::mapping);
    writer.add_uint64(mapping_field::id, found->second);
    writer.add_uint64(mapping_field::memory_limit, UINT64_MAX);  // ELF addresses, so the mapping must contain them all
    writer.add_int64(mapping_field::filename, module);
    writer.add_bool(mapping_field::has_functions, true);  // pprof need not symbolize again
    return found->second;
}

std::uint64_t ProfileProto::write_location(std::uint64_t mapping, std::uint64_t address, std::uint64_t function,
                                           int line) {
    pbf_writer location(writer_, profile::location);
    location.add_uint64(location_field::id, ++locations_);
    if (mapping != 0) location.add_uint64(location_field::mapping_id, mapping);
    if (address != 0) location.add_uint64(location_field::address, address);
    pbf_writer writer(location, location_field::line);
    writer.add_uint64(line_field::function_id, function);
    if (line > 0) writer.add_int64(line_field::line, line);
    return locations_;
}

std::uint64_t ProfileProto::location(std::string_view name, std::string_view file, int line) {
    const std::uint64_t called = function(text(name), text(file));
    std::uint64_t& known = python_[{called, line}];
    if (known == 0) known = write_location(0, 0, called, line);
    return known;
}

std::uint64_t ProfileProto::location(std::string_view module, std::uint64_t offset, std::string_view symbol) {
    const std::int64_t file = text(module);
    const std::uint64_t called = function(text(symbol), file);
    const std::uint64_t mapped = file == 0 ? 0 : mapping(file);
    std::uint64_t& known = native_[{mapped, offset, called}];
    if (known == 0) known = write_location(mapped, offset, called, 0);
    return known;
}

void ProfileProto::add_sample(const std::vector<std::uint64_t>& locations, std::span<const std::int64_t> values,
                              const Labels& labels) {
    pbf_writer writer(writer_, profile::sample);
    writer.add_packed_uint64(sample::location_id, locations.begin(), locations.end());
    writer.add_packed_int64(sample::value, values.begin(), values.end());
    for (const auto& [name, value] : labels) {
        pbf_writer entry(writer, sample::label);
        entry.add_int64(label::key, text(name));
        if (const auto* number = std::get_if<std::int64_t>(&value))
            entry.add_int64(label::num, *number);
        else
            entry.add_int64(label::str, text(std::get<std::string>(value)));
    }
}

std::string ProfileProto::finish() && {
    std::vector<const std::string*> in_order(texts_.size());
    for (const auto& [bytes, index] : texts_) in_order[static_cast<std::size_t>(index)] = &bytes;
    for (const std::string* bytes : in_order) writer_.add_string(profile::string_table, *bytes);
    return std::move(data_);
}

namespace {

constexpr const char* kSampleTypes[] = {"resident", "mapped", "tensors_host", "gpu", "pinned"};
using PlaneBytes = std::array<std::int64_t, std::size(kSampleTypes)>;

// Growth of one stack of one role in all planes.
struct Grown {
    PlaneBytes bytes{};
    std::set<pid_t> pids{};
};
// The native frames are those that are shown (SiteParts::native).
using SiteKey = std::tuple<RoleKey, std::vector<PythonFrame>, std::vector<NativeFrame>>;

std::vector<std::uint64_t> locations_of(ProfileProto& profile, const SiteKey& site) {
    const auto& [role, python, native] = site;
    std::vector<std::uint64_t> locations;
    for (const NativeFrame& frame : native)
        locations.push_back(profile.location(frame.module, frame.offset, name_of(frame)));
    for (const PythonFrame& frame : python)
        locations.push_back(profile.location(name_of(frame), frame.file, std::max(frame.line, 0)));
    if (locations.empty()) locations.push_back(profile.location("[no stack]", "", 0));
    return locations;
}

void add_apart(ProfileProto& profile, const std::string& name, std::size_t plane, std::int64_t bytes) {
    PlaneBytes values{};
    values[plane] = bytes;
    profile.add_sample({profile.location(name, "", 0)}, values, {});
}

}  // namespace

std::string growth_pprof(const GrowthReport& report) {
    ProfileProto profile;
    for (const char* plane : kSampleTypes) profile.add_sample_type(plane, "bytes");
    profile.set_default(kSampleTypes[0]);
    profile.set_time(report.time);
    profile.add_comment(fmt::format("memscope {}, target {}", kVersion, report.target.name));

    const Growth& growth = report.growth;
    const GrowthPlane* planes[] = {&growth.resident, &growth.mapped, &growth.tensors_host, &growth.gpu, &growth.pinned};
    static_assert(std::size(planes) == std::size(kSampleTypes));
    std::map<SiteKey, Grown> grown;
    for (std::size_t plane = 0; plane < std::size(kSampleTypes); ++plane) {
        const ShownSites shown = shown_sites(*planes[plane], report.top);
        for (const GrowthSite& site : shown.sites) {
            const std::span native = parts_of(site).native;
            Grown& here = grown[{site.role, site.python, {native.begin(), native.end()}}];
            here.bytes[plane] = add_bytes(here.bytes[plane], site.bytes);
            here.pids.insert(site.pids.begin(), site.pids.end());
        }
        if (shown.left_out > 0)
            add_apart(profile, fmt::format("[left out: {} call sites]", shown.left_out), plane, shown.left_out_bytes);
        for (const UnattributedGrowth& part : planes[plane]->unattributed)
            add_apart(profile, "[unattributed: " + part.reason + "]", plane, part.bytes);
    }
    for (const auto& [key, here] : grown) {
        const RoleKey& role = std::get<RoleKey>(key);
        ProfileProto::Labels labels{{"role", std::string(name_of(role.role))}};
        if (role.rank) labels.push_back({"rank", std::to_string(*role.rank)});  // text: pprof drops a number that is 0
        labels.push_back({"processes", static_cast<std::int64_t>(here.pids.size())});
        profile.add_sample(locations_of(profile, key), here.bytes, labels);
    }
    return gzipped(std::move(profile).finish());
}

}  // namespace memscope
