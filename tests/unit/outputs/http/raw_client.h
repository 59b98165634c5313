#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"

// Raw HTTP, to send requests that no client library would send.
namespace memscope::test {

Fd connected(std::uint16_t port);  // a closed Fd if the port does not listen
void send_text(const Fd& socket, std::string_view text);
std::string received(const Fd& socket);  // reads until the other side closes
std::string raw_exchange(std::uint16_t port, const std::string& request);
std::string get(std::uint16_t port, const std::string& path, const std::string& method = "GET");
int status_of(const std::string& answer);  // 0: the answer has no status

}  // namespace memscope::test
