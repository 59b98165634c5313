#include "model/growth/mappings.h"

#include <numeric>

namespace memscope {
namespace {

#define X(name, word) word,
constexpr std::string_view kMappedBy[] = {MS_MAPPED_BY(X)};
constexpr std::string_view kUnmappedBy[] = {MS_UNMAPPED_BY(X)};
constexpr std::string_view kFailedCalls[] = {MS_FAILED_CALLS(X)};
constexpr std::string_view kFailureReasons[] = {MS_FAILURE_REASONS(X)};
#undef X

}  // namespace

std::string_view mapped_by(std::size_t index) { return kMappedBy[index]; }
std::string_view unmapped_by(std::size_t index) { return kUnmappedBy[index]; }
std::string_view failed_call(std::size_t index) { return kFailedCalls[index]; }
std::string_view failure_reason(std::size_t index) { return kFailureReasons[index]; }

Bytes Mappings::outstanding() const { return summed().mapped[MS_MAPPED_OTHER]; }

Mappings Mappings::summed() const {
    const Bytes up = std::accumulate(mapped.begin(), mapped.end(), Bytes{});
    const Bytes down = std::accumulate(unmapped.begin(), unmapped.end(), Bytes{});
    Mappings difference;
    difference.mapped[MS_MAPPED_OTHER] = up - down;  // one of the two is 0
    difference.unmapped[MS_UNMAPPED_OTHER] = down - up;
    return difference;
}

Mappings Mappings::reversed() const {
    Mappings taken_back;
    taken_back.mapped[MS_MAPPED_OTHER] = unmapped[MS_UNMAPPED_OTHER];
    taken_back.unmapped[MS_UNMAPPED_OTHER] = mapped[MS_MAPPED_OTHER];
    return taken_back;
}

Mappings& Mappings::operator+=(const Mappings& other) {
    for (std::size_t i = 0; i < mapped.size(); ++i) mapped[i] += other.mapped[i];
    for (std::size_t i = 0; i < unmapped.size(); ++i) unmapped[i] += other.unmapped[i];
    for (std::size_t call = 0; call < failures.size(); ++call)
        for (std::size_t reason = 0; reason < failures[call].size(); ++reason)
            failures[call][reason] += other.failures[call][reason];
    return *this;
}

Mappings operator-(const Mappings& now, const Mappings& before) {
    Mappings rise;
    for (std::size_t i = 0; i < now.mapped.size(); ++i) rise.mapped[i] = now.mapped[i] - before.mapped[i];
    for (std::size_t i = 0; i < now.unmapped.size(); ++i) rise.unmapped[i] = now.unmapped[i] - before.unmapped[i];
    for (std::size_t call = 0; call < now.failures.size(); ++call)
        for (std::size_t reason = 0; reason < now.failures[call].size(); ++reason)
            rise.failures[call][reason] = now.failures[call][reason] - before.failures[call][reason];
    return rise;
}

}  // namespace memscope
