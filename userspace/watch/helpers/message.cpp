#include "watch/helpers/message.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace memscope {
namespace {

constexpr std::size_t kMostInline = std::size_t{48} << 10U;
constexpr std::size_t kMostBytes = std::size_t{512} << 20U;
constexpr char kHere = 'h';    // the text follows
constexpr char kInFile = 'f';  // the last descriptor is a file with the text

Fd file_with(std::string_view head, std::string_view rest) {
    Fd file(::memfd_create("memscope-answer", MFD_CLOEXEC));
    for (std::string_view text : {head, rest})
        while (file && !text.empty()) {
            const ssize_t n = ::write(file.get(), text.data(), text.size());
            if (n <= 0) return {};
            text.remove_prefix(static_cast<std::size_t>(n));
        }
    return file;
}

// Reading a memfd never blocks, because it is memory.
std::optional<std::string> text_of(const Fd& file) {
    struct stat status{};
    if (::fstat(file.get(), &status) != 0 || status.st_size < 0) return std::nullopt;
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size > kMostBytes) return std::nullopt;
    std::string text(size, '\0');
    std::size_t got = 0;
    while (got < size) {
        const ssize_t n = ::pread(file.get(), text.data() + got, size - got, static_cast<off_t>(got));
        if (n <= 0) return std::nullopt;
        got += static_cast<std::size_t>(n);
    }
    return text;
}

}  // namespace

SendOutcome send_message(const Fd& socket, std::string_view head, std::string_view rest, std::span<const int> fds,
                         int flags) {
    std::vector<int> all(fds.begin(), fds.end());
    Fd file;
    std::string content(1, kHere);
    if (head.size() + rest.size() > kMostInline) {
        file = file_with(head, rest);
        if (!file) return SendOutcome::failed;
        all.push_back(file.get());
        content[0] = kInFile;
    } else {
        content.append(head).append(rest);
    }
    if (all.size() > kMostMessageFds) {
        errno = EMSGSIZE;
        return SendOutcome::failed;
    }
    iovec part{.iov_base = content.data(), .iov_len = content.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostMessageFds * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!all.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(all.size() * sizeof(int));
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(all.size() * sizeof(int));
        std::memcpy(CMSG_DATA(header), all.data(), all.size() * sizeof(int));
    }
    for (;;) {
        if (::sendmsg(socket.get(), &message, flags | MSG_NOSIGNAL) >= 0) return SendOutcome::sent;
        // ETOOMANYREFS: this user has the largest allowed number of descriptors in transit.
        if (errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS) return SendOutcome::full;
        if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) return SendOutcome::closed;
        if (errno != EINTR) return SendOutcome::failed;
    }
}

std::optional<Message> receive_message(const Fd& socket, int flags) {
    thread_local std::array<char, kMostInline + 1> buffer;  // reused, because there are thousands of small messages
    iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostMessageFds * sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    ssize_t n = 0;
    do n = ::recvmsg(socket.get(), &header, flags | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    Message message;
    if (n >= 0)
        for (cmsghdr* each = CMSG_FIRSTHDR(&header); each; each = CMSG_NXTHDR(&header, each)) {
            if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
            const std::size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t i = 0; i < count; ++i) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(each) + i * sizeof fd, sizeof fd);
                message.fds.emplace_back(fd);
            }
        }
    if (n == 0) errno = ECONNRESET;  // the other end is closed
    if (n <= 0) return std::nullopt;
    const std::string_view content(buffer.data(), static_cast<std::size_t>(n));
    errno = EPROTO;
    if ((header.msg_flags & MSG_TRUNC) != 0) return std::nullopt;
    message.lost_fds = (header.msg_flags & MSG_CTRUNC) != 0;
    if (content.front() == kHere) {
        message.text = std::string(content.substr(1));
        return message;
    }
    if (message.lost_fds) return message;
    if (message.fds.empty()) return std::nullopt;
    auto text = text_of(message.fds.back());
    message.fds.pop_back();
    if (!text) return std::nullopt;
    message.text = std::move(*text);
    return message;
}

}  // namespace memscope
