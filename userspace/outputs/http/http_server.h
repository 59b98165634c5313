#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "outputs/http/http_message.h"
#include "outputs/http/listen.h"

namespace memscope {

struct HttpLimits {
    Seconds request{10};  // from connecting to the end of the headers
};

// Read-only HTTP: GET and HEAD, one request per connection, everything bounded. Runs the handler in a thread of its
// own. Late answers (HttpResponse::later) are made in a second thread and slow ones in a third, so that a scrape does
// not wait for them. The destructor waits for all threads.
class HttpServer {
  public:
    // Answers only requests whose Host header passes HostCheck; `names` come from parse_host_name.
    static Result<HttpServer> on_tcp(const ListenAddress& address, HttpHandler handler, HttpLimits limits = {},
                                     std::vector<std::string> names = {});
    // Like on_tcp(), but on a socket that listens already.
    static Result<HttpServer> on_socket(const Fd& socket, const ListenAddress& address, HttpHandler handler,
                                        HttpLimits limits = {}, std::vector<std::string> names = {});
    // Mode 0660, group `memscope` if it exists. The destructor removes the file.
    static Result<HttpServer> on_unix(const fs::path& socket, HttpHandler handler, HttpLimits limits = {});

    HttpServer(HttpServer&&) noexcept;
    HttpServer& operator=(HttpServer&&) noexcept;
    ~HttpServer();

    std::uint16_t port() const;  // 0 on a unix socket

  private:
    struct Running;
    explicit HttpServer(std::unique_ptr<Running> running);
    std::unique_ptr<Running> running_;
};

}  // namespace memscope
