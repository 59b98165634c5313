#include "outputs/http/request_deadline.h"

#include <algorithm>
#include <sys/socket.h>

namespace memscope {
namespace {

constexpr int kStepsToArrive = 4;
constexpr int kStepsToRead = 16;
constexpr std::string_view kTooSlow =
    "HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 17\r\n"
    "Cache-Control: no-store\r\nConnection: close\r\n\r\nrequest too slow\n";

constexpr std::string_view kTooMany =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 21\r\n"
    "Cache-Control: no-store\r\nRetry-After: 1\r\nConnection: close\r\n\r\ntoo many connections\n";

}  // namespace

RequestDeadline::RequestDeadline(Seconds limit, std::size_t most)
    : step_(limit / kStepsToArrive), most_(most), thread_([this] { run(); }) {}

RequestDeadline::~RequestDeadline() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

void RequestDeadline::started(int socket) {
    const std::lock_guard lock(mutex_);
    connections_[socket] = {.number = ++arrived_};
    make_room();
    wake_.notify_all();
}

void RequestDeadline::answered(int socket) {
    const std::lock_guard lock(mutex_);
    connections_[socket].answered = true;
}

void RequestDeadline::ended(int socket) {
    const std::lock_guard lock(mutex_);
    connections_.erase(socket);
}

// shutdown() wakes the thread of the server, which then closes the descriptor. The lock keeps the descriptor open until
// then.
void RequestDeadline::cut_off(int socket, Connection& connection, std::string_view answer) {
    if (!connection.answered) ::send(socket, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    ::shutdown(socket, SHUT_RDWR);
    connection.ended = true;
}

void RequestDeadline::make_room() {
    const auto open = [](const auto& each) { return !each.second.ended; };
    if (static_cast<std::size_t>(std::ranges::count_if(connections_, open)) <= most_) return;
    const auto age = [](const auto& each) { return std::pair(each.second.ended, each.second.number); };
    const auto oldest = std::ranges::min_element(connections_, {}, age);
    cut_off(oldest->first, oldest->second, kTooMany);
}

void RequestDeadline::age_all() {
    for (auto& [socket, connection] : connections_) {
        ++connection.age;
        const int most = connection.answered ? kStepsToRead : kStepsToArrive;
        if (!connection.ended && connection.age > most) cut_off(socket, connection, kTooSlow);
    }
}

void RequestDeadline::run() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
        if (connections_.empty())
            wake_.wait(lock);  // no connection, no wake-ups
        else if (wake_.wait_for(lock, step_, [this] { return stop_; }))
            return;
        else
            age_all();
    }
}

}  // namespace memscope
