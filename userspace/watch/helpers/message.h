#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace memscope {

// One message on a SOCK_SEQPACKET socket, with file descriptors. A long text is sent in a memfd.
struct Message {
    std::string text{};
    std::vector<Fd> fds{};
    // The kernel dropped descriptors of this message, because this process has reached its limit (EMFILE). `text` is
    // empty if one of the dropped descriptors contained it.
    bool lost_fds = false;
};

enum class SendOutcome {
    sent,
    full,    // try again later
    closed,  // the other end is closed
    failed   // `errno` says why
};

constexpr std::size_t kMostMessageFds = 40;  // there is a BPF program for each followed CUDA call, about 30

// The text has two parts, so that the caller does not have to copy a long text. `flags` as for sendmsg() and recvmsg():
// MSG_DONTWAIT, or 0 to wait.
SendOutcome send_message(const Fd& socket, std::string_view head, std::string_view rest, std::span<const int> fds,
                         int flags);
// `nullopt`: `errno` is ECONNRESET if the other end is closed, EAGAIN if there is no message yet (with MSG_DONTWAIT),
// EPROTO if the message is damaged.
std::optional<Message> receive_message(const Fd& socket, int flags);

}  // namespace memscope
