#include "record/record.h"

#include <algorithm>
#include <cmath>

#include "record/codec.h"
#include "record/container.h"
#include "record/fields_snapshot.h"

namespace memscope {
namespace {

using record::Kind;

template <class T>
std::string content_of(const T& value) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    record::Sink sink{writer, bytes};
    record::put_members(sink, value, record::default_of<T>());
    return bytes;
}

template <class T>
Result<T> decode(Kind kind, std::string_view bytes) {
    if (bytes.size() > record::Bounds::kMostBytes) return plain_error("is larger than a record may be");
    const auto content = record::unsealed(kind, bytes);
    if (!content) return content.error();
    try {
        T value{};
        record::Budget budget(content->size());
        protozero::pbf_reader reader(content->data(), content->size());
        record::take_members(reader, value, budget);
        return value;
    } catch (const record::Refusal& refusal) {
        return plain_error(refusal.reason);
    } catch (const protozero::exception&) {
        return plain_error("is damaged: its fields are not valid");
    }
}

}  // namespace

std::string encode_record(const Snapshot& snapshot) { return record::sealed(Kind::snapshot, content_of(snapshot)); }
std::string encode_record(const Growth& growth) { return record::sealed(Kind::growth, content_of(growth)); }
std::string encode_record(const DeathReport& report) { return record::sealed(Kind::death_report, content_of(report)); }
std::string encode_record(const WholeCensus& census) { return record::sealed(Kind::heap_census, content_of(census)); }

std::string encode_target(const Snapshot& snapshot, const TargetSnapshot& target) {
    return encode_record(Snapshot{.time = snapshot.time,
                                  .host = snapshot.host,
                                  .gpus = snapshot.gpus,
                                  .targets = {target},
                                  .self = snapshot.self});
}

template <>
Result<Snapshot> decode_record(std::string_view bytes) {
    return decode<Snapshot>(Kind::snapshot, bytes);
}
template <>
Result<Growth> decode_record(std::string_view bytes) {
    return decode<Growth>(Kind::growth, bytes);
}
template <>
Result<DeathReport> decode_record(std::string_view bytes) {
    return decode<DeathReport>(Kind::death_report, bytes);
}
template <>
Result<WholeCensus> decode_record(std::string_view bytes) {
    return decode<WholeCensus>(Kind::heap_census, bytes);
}

Status limit_untrusted(DeathReport& report, std::size_t most) {
    struct Visit {
        void real(double& value) const { value = std::isnan(value) ? 0 : std::clamp(value, -1e18, 1e18); }
        void elements(std::size_t count) { longest = std::max(longest, count); }
        std::size_t longest = 0;
    } visit;
    record::walk(report, visit);
    if (visit.longest > most) return plain_error("has longer lists than a report may have");
    return Done{};
}

}  // namespace memscope
