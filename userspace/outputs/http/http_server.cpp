#include "outputs/http/http_server.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <fcntl.h>
#include <microhttpd.h>
#include <mutex>
#include <strings.h>
#include <sys/stat.h>
#include <thread>
#include <utility>

#include "base/text.h"
#include "outputs/http/host_check.h"
#include "outputs/http/listen.h"
#include "outputs/http/request_deadline.h"

namespace memscope {
namespace {

// There is no limit per address, because on loopback every user of the machine has the same address. A few hundred
// clients at a time are enough. One client more closes the oldest connection (RequestDeadline).
constexpr std::size_t kMostAtATime = 448;
constexpr unsigned kMostConnections = 512;  // including connections that are being closed

}  // namespace

namespace {

// One request, from its headers to the end of its answer.
struct Exchange {
    std::optional<HttpResponse> response{};  // once it is made
    bool head_taken = false;                 // the headers were seen, and a body may come
};

// Makes the answers that take a while, one after the other, in a thread of its own. The connection is suspended
// meanwhile.
class LateAnswers {
  public:
    LateAnswers() : thread_([this] { run(); }) {}
    LateAnswers(const LateAnswers&) = delete;
    LateAnswers& operator=(const LateAnswers&) = delete;
    ~LateAnswers() { stop(); }

    // False: too many requests are waiting already.
    bool add(MHD_Connection* connection, Exchange& exchange, std::function<HttpResponse()> make) {
        constexpr std::size_t kMostWaiting = 32;
        const std::lock_guard lock(mutex_);
        if (stop_ || waiting_.size() >= kMostWaiting) return false;
        MHD_suspend_connection(connection);
        waiting_.push_back({connection, &exchange, std::move(make)});
        wake_.notify_one();
        return true;
    }

    // Answers the waiting requests with 503. Call this before MHD_stop_daemon(), because no connection may be suspended
    // then.
    void stop() {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
            wake_.notify_one();
        }
        if (thread_.joinable()) thread_.join();
        for (const Waiting& each : waiting_) {
            each.exchange->response =
                HttpResponse{.status = MHD_HTTP_SERVICE_UNAVAILABLE, .body = "memscope is shutting down\n"};
            MHD_resume_connection(each.connection);
        }
        waiting_.clear();
    }

  private:
    struct Waiting {
        MHD_Connection* connection;
        Exchange* exchange;
        std::function<HttpResponse()> make;
    };

    void run() {
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
            if (stop_) return;
            const Waiting next = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            next.exchange->response = made(next.make);
            MHD_resume_connection(next.connection);
            lock.lock();
        }
    }

    static HttpResponse made(const std::function<HttpResponse()>& make) {
        try {
            return make();
        } catch (const std::exception&) {  // a bug of ours must not end the watching
            return {.status = MHD_HTTP_INTERNAL_SERVER_ERROR, .body = "internal error\n"};
        }
    }

    std::mutex mutex_{};
    std::condition_variable wake_{};
    std::deque<Waiting> waiting_{};
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace

struct HttpServer::Running {
    HttpHandler handler;
    RequestDeadline deadline;
    LateAnswers late{};
    LateAnswers slow{};  // HttpResponse::slow
    std::uint16_t port = 0;
    fs::path unix_path{};
    struct stat unix_file{};
    MHD_Daemon* daemon = nullptr;

    Running(HttpHandler h, HttpLimits limits) : handler(std::move(h)), deadline(limits.request, kMostAtATime) {}
    ~Running() {
        struct stat now{};
        // Do not remove the file if another watcher has put its own socket there since.
        if (!unix_path.empty() && ::stat(unix_path.c_str(), &now) == 0 && now.st_ino == unix_file.st_ino)
            ::unlink(unix_path.c_str());
        late.stop();
        slow.stop();
        if (daemon) MHD_stop_daemon(daemon);  // closes the socket it listens on
    }

    Status start(const Fd& socket, Seconds limit, const std::string& where);
};

namespace {

constexpr std::size_t kMemoryPerConnection = std::size_t{16} << 10U;  // longer headers: 414 or 431
constexpr std::uint64_t kMostBody = std::uint64_t{64} << 10U;         // read and discarded, so that the answer arrives

int socket_of(MHD_Connection* connection) {
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

MHD_Result add_parameter(void* out, MHD_ValueKind, const char* key, std::size_t key_size, const char* value,
                         std::size_t value_size) {
    static_cast<HttpRequest*>(out)->parameters.emplace(std::string(key, key_size),
                                                       value ? std::string(value, value_size) : std::string());
    return MHD_YES;
}

// "gzip" is accepted, unless its weight is 0: "gzip;q=0".
bool names_gzip(std::string_view accepted) {
    for (const std::string_view part : split(accepted, ',')) {
        const auto words = split(part, ';');
        const bool refused = words.size() > 1 && (trimmed(words[1]) == "q=0" || trimmed(words[1]).starts_with("q=0.0"));
        if (trimmed(words.front()) == "gzip") return !refused;
    }
    return false;
}

MHD_Result add_header(void* out, MHD_ValueKind, const char* key, std::size_t, const char* value,
                      std::size_t value_size) {
    auto& request = *static_cast<HttpRequest*>(out);
    std::string text = value ? std::string(value, value_size) : std::string();
    if (::strcasecmp(key, MHD_HTTP_HEADER_ACCEPT_ENCODING) == 0) request.accepts_gzip = names_gzip(text);
    if (::strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0)
        request.hosts.push_back(std::move(text));
    else if (::strcasecmp(key, MHD_HTTP_HEADER_ORIGIN) == 0)
        request.origins.push_back(std::move(text));
    return MHD_YES;
}

MHD_Result add_cookie(void* out, MHD_ValueKind, const char* key, std::size_t key_size, const char* value,
                      std::size_t value_size) {
    static_cast<HttpRequest*>(out)->cookies.emplace(std::string(key, key_size),
                                                    value ? std::string(value, value_size) : std::string());
    return MHD_YES;
}

HttpResponse answer(const HttpHandler& handler, MHD_Connection* connection, const char* path, std::string_view method,
                    const char* version) {
    if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD)
        return {.status = MHD_HTTP_METHOD_NOT_ALLOWED, .body = "only GET and HEAD\n"};
    try {
        HttpRequest request{.path = path, .version = version};
        MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, &add_parameter, &request);
        MHD_get_connection_values_n(connection, MHD_HEADER_KIND, &add_header, &request);
        MHD_get_connection_values_n(connection, MHD_COOKIE_KIND, &add_cookie, &request);
        return handler(request);
    } catch (const std::exception&) {  // a bug of ours must not end the watching
        return {.status = MHD_HTTP_INTERNAL_SERVER_ERROR, .body = "internal error\n"};
    }
}

// libmicrohttpd passes the path as a NUL-terminated string: %00 must not cut it to another path.
std::size_t unescape(void*, MHD_Connection*, char* text) {
    constexpr char kInNoPath = '\x01';
    const std::size_t size = MHD_http_unescape(text);
    std::replace(text, text + size, '\0', kInNoPath);
    return size;
}

MHD_Result send(MHD_Connection* connection, const HttpResponse& response) {
    MHD_Response* out = MHD_create_response_from_buffer(response.body.size(), const_cast<char*>(response.body.data()),
                                                        MHD_RESPMEM_MUST_COPY);
    if (!out) return MHD_NO;
    MHD_add_response_header(out, MHD_HTTP_HEADER_CONTENT_TYPE, response.content_type.c_str());
    MHD_add_response_header(out, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(out, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(out, MHD_HTTP_HEADER_CONNECTION, "close");
    if (response.status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(out, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (!response.note.empty()) MHD_add_response_header(out, kNoteHeader, response.note.c_str());
    for (const auto& [name, value] : response.headers) MHD_add_response_header(out, name.c_str(), value.c_str());
    const auto queued = MHD_queue_response(connection, static_cast<unsigned>(response.status), out);
    MHD_destroy_response(out);
    return queued;
}

// A short body is read before the answer: closing a socket with unread bytes resets the connection, and the client can
// lose the answer.
bool has_short_body(MHD_Connection* connection) {
    const char* length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const auto bytes = length ? parse_number(length) : std::nullopt;
    return bytes && *bytes > 0 && *bytes <= kMostBody;
}

template <class Running>
MHD_Result on_request(void* self, MHD_Connection* connection, const char* path, const char* method, const char* version,
                      const char*, std::size_t* body_size, void** state) {
    auto& server = *static_cast<Running*>(self);
    if (!*state) *state = new Exchange;  // on_completed() deletes it
    auto& exchange = *static_cast<Exchange*>(*state);
    const bool first_call = !std::exchange(exchange.head_taken, true);
    if (first_call && has_short_body(connection)) return MHD_YES;  // called again with the body, and after it
    if (*body_size > 0) {
        *body_size = 0;
        return MHD_YES;
    }
    server.deadline.answered(socket_of(connection));
    if (exchange.response) return send(connection, *exchange.response);  // called again after the answer was made
    const HttpResponse response = answer(server.handler, connection, path, method, version);
    if (!response.later) return send(connection, response);
    LateAnswers& queue = response.slow ? server.slow : server.late;
    if (queue.add(connection, exchange, response.later)) return MHD_YES;
    return send(connection,
                {.status = MHD_HTTP_SERVICE_UNAVAILABLE, .body = "too many requests of this kind are waiting\n"});
}

void on_completed(void*, MHD_Connection*, void** state, MHD_RequestTerminationCode) {
    delete static_cast<Exchange*>(*state);
    *state = nullptr;
}

template <class Running>
void on_connection(void* self, MHD_Connection* connection, void**, MHD_ConnectionNotificationCode code) {
    auto& server = *static_cast<Running*>(self);
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        server.deadline.started(socket_of(connection));
    else
        server.deadline.ended(socket_of(connection));
}

}  // namespace

Status HttpServer::Running::start(const Fd& socket, Seconds limit, const std::string& where) {
    port = port_of(socket);
    // A fallback for RequestDeadline. Longer than all its limits, and much longer than the time in which a request must
    // arrive, because this one closes a connection without the answer 408, and on a busy machine the thread of
    // RequestDeadline can be late.
    const auto silence = static_cast<unsigned>(10 + 4 * limit.count());
    const int owned_by_daemon = ::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0);
    if (owned_by_daemon < 0) return system_error(errno, where);
    errno = 0;
    // No MHD_USE_ERROR_LOG: clients must not be able to fill a log.
    daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr,
                              &on_request<Running>, this, MHD_OPTION_LISTEN_SOCKET, owned_by_daemon,
                              MHD_OPTION_CONNECTION_LIMIT, kMostConnections, MHD_OPTION_CONNECTION_TIMEOUT, silence,
                              MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMemoryPerConnection, MHD_OPTION_UNESCAPE_CALLBACK,
                              &unescape, nullptr, MHD_OPTION_NOTIFY_COMPLETED, &on_completed, nullptr,
                              MHD_OPTION_NOTIFY_CONNECTION, &on_connection<Running>, this, MHD_OPTION_END);
    if (!daemon) return system_error(errno ? errno : ENOMEM, where);
    return Done{};
}

HttpServer::HttpServer(std::unique_ptr<Running> running) : running_(std::move(running)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;
std::uint16_t HttpServer::port() const { return running_->port; }

Result<HttpServer> HttpServer::on_tcp(const ListenAddress& address, HttpHandler handler, HttpLimits limits,
                                      std::vector<std::string> names) {
    auto socket = listen_on_tcp(address);
    if (!socket) return socket.error();
    return on_socket(*socket, address, std::move(handler), limits, std::move(names));
}

Result<HttpServer> HttpServer::on_socket(const Fd& socket, const ListenAddress& address, HttpHandler handler,
                                         HttpLimits limits, std::vector<std::string> names) {
    auto checked = [check = HostCheck(address, std::move(names)), handler = std::move(handler)](const HttpRequest& r) {
        auto refused = check.refusal(r);
        return refused ? *std::move(refused) : handler(r);
    };
    auto running = std::make_unique<Running>(std::move(checked), limits);
    if (auto started = running->start(socket, limits.request, "serve " + address.text()); !started)
        return started.error();
    return HttpServer(std::move(running));
}

Result<HttpServer> HttpServer::on_unix(const fs::path& path, HttpHandler handler, HttpLimits limits) {
    auto socket = listen_on_unix(path);
    if (!socket) return socket.error();
    auto running = std::make_unique<Running>(std::move(handler), limits);
    running->unix_path = path;
    if (::stat(path.c_str(), &running->unix_file) != 0) return system_error(errno, "stat " + path.string());
    if (auto started = running->start(*socket, limits.request, "serve " + path.string()); !started)
        return started.error();
    return HttpServer(std::move(running));
}

}  // namespace memscope
