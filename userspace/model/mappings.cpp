#include "model/mappings.h"

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

Bytes Mappings::outstanding() const {
    Bytes up;
    Bytes down;
    for (const Bytes bytes : mapped) up += bytes;
    for (const Bytes bytes : unmapped) down += bytes;
    return up - down;
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
