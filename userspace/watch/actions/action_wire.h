#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/deaths/action.h"

// Messages between the watcher and the helper that runs commands for it: one request and one reply per command. The
// messages do not contain the command line.
namespace memscope {

struct ActionRequest {
    std::uint32_t id = 0;
    ActionEvent event{};
    std::vector<std::string> environment{};  // "MEMSCOPE_PID=4711"
    std::string facts{};                     // for the standard input of the command
};

inline constexpr std::size_t kMostRequestBytes = std::size_t{128} << 10U;
inline constexpr std::size_t kMostVariables = 32;

// Fails if the request is too large.
Result<std::string> encode_request(const ActionRequest& request);
// Accepts only this format, and only variables whose names begin with MEMSCOPE_, because the helper may have privileges
// that the watcher has given up.
Result<ActionRequest> decode_request(std::string_view bytes);

// How a command ended. `number` is its exit status, the signal that killed it, or the error that kept it from running.
struct ActionReply {
    enum class How : std::uint32_t { exited, killed, timed_out, not_started, refused };
    std::uint32_t id = 0;
    How how = How::refused;
    std::int32_t number = 0;
};
static_assert(sizeof(ActionReply) == 12);

}  // namespace memscope
