#include "outputs/request_deadline.h"

#include <string_view>
#include <sys/socket.h>

namespace memscope {
namespace {

constexpr int kStepsToArrive = 4;
constexpr int kStepsToRead = 16;
constexpr std::string_view kTooSlow =
    "HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 17\r\n"
    "Cache-Control: no-store\r\nConnection: close\r\n\r\nrequest too slow\n";

}  // namespace

RequestDeadline::RequestDeadline(Seconds limit) : step_(limit / kStepsToArrive), thread_([this] { run(); }) {}

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
    connections_[socket] = {};
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

// Shutting down wakes the server's own thread, which then closes; the lock keeps the descriptor open until here.
void RequestDeadline::age_all() {
    for (auto& [socket, connection] : connections_) {
        ++connection.age;
        if (!connection.answered && connection.age == kStepsToArrive + 1) {
            ::send(socket, kTooSlow.data(), kTooSlow.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
            ::shutdown(socket, SHUT_RDWR);
        } else if (connection.age == kStepsToRead + 1) {
            ::shutdown(socket, SHUT_RDWR);
        }
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
