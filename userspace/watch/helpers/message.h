#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace memscope {

// One message on a SOCK_SEQPACKET socket, with descriptors beside it. A long text travels in a file without a name.
struct Message {
    std::string text{};
    std::vector<Fd> fds{};
};

enum class SendOutcome { sent, full, failed };

constexpr std::size_t kMostMessageFds = 40;  // a program for each call of the CUDA driver: about 30

// The text is given in two parts, for it can be very long. `flags` as for sendmsg() and recvmsg(): MSG_DONTWAIT, or 0
// to wait.
SendOutcome send_message(const Fd& socket, std::string_view head, std::string_view rest, std::span<const int> fds,
                         int flags);
// Nothing: the other end is closed, or with MSG_DONTWAIT nothing is there yet (`errno` is EAGAIN).
std::optional<Message> receive_message(const Fd& socket, int flags);

}  // namespace memscope
