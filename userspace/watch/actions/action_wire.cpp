#include "watch/actions/action_wire.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace memscope {
namespace {

struct Header {
    std::uint32_t id = 0;
    std::uint32_t event = 0;
    std::uint32_t environment_size = 0;
    std::uint32_t facts_size = 0;
};
static_assert(sizeof(Header) == 16);

bool is_ours(std::string_view variable) {
    constexpr std::string_view kPrefix = "MEMSCOPE_";
    const std::string_view name = variable.substr(0, variable.find('='));
    return name.size() < variable.size() && name.size() > kPrefix.size() && name.starts_with(kPrefix) &&
           std::ranges::all_of(name, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

Error malformed() { return plain_error("a request for a command is malformed"); }

}  // namespace

Result<std::string> encode_request(const ActionRequest& request) {
    std::string environment;
    for (const std::string& variable : request.environment) {
        environment += variable.substr(0, variable.find('\0'));
        environment += '\0';
    }
    const Header header{.id = request.id,
                        .event = static_cast<std::uint32_t>(request.event),
                        .environment_size = static_cast<std::uint32_t>(environment.size()),
                        .facts_size = static_cast<std::uint32_t>(request.facts.size())};
    std::string bytes(sizeof header, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    bytes += environment;
    bytes += request.facts;
    if (bytes.size() > kMostRequestBytes || request.environment.size() > kMostVariables)
        return plain_error("the description of the event is too large");
    return bytes;
}

Result<ActionRequest> decode_request(std::string_view bytes) {
    Header header;
    if (bytes.size() < sizeof header || bytes.size() > kMostRequestBytes) return malformed();
    std::memcpy(&header, bytes.data(), sizeof header);
    bytes.remove_prefix(sizeof header);
    const std::uint64_t announced_size = std::uint64_t{header.environment_size} + header.facts_size;
    if (announced_size != bytes.size() || header.event >= std::size(kActionEvents)) return malformed();
    std::string_view environment = bytes.substr(0, header.environment_size);
    ActionRequest request{.id = header.id,
                          .event = kActionEvents[header.event],
                          .facts = std::string(bytes.substr(header.environment_size))};
    if (environment.empty()) return request;
    if (environment.back() != '\0') return malformed();
    environment.remove_suffix(1);
    for (const std::string_view variable : split(environment, '\0')) {
        if (!is_ours(variable) || request.environment.size() == kMostVariables) return malformed();
        request.environment.emplace_back(variable);
    }
    return request;
}

}  // namespace memscope
