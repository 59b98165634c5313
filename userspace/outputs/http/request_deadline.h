#pragma once
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/units.h"

namespace memscope {

// libmicrohttpd has only an idle timeout: a client that sends one byte every few seconds would hold its connection for
// hours. This class bounds the whole request. A request that has not arrived in time is answered 408. A response that
// the client has not read in four times that time is cut off. If there are too many connections, the oldest one is
// closed: an answer takes milliseconds, so the oldest connection belongs to a client that requests nothing.
class RequestDeadline {
  public:
    RequestDeadline(Seconds limit, std::size_t most);
    ~RequestDeadline();
    RequestDeadline(const RequestDeadline&) = delete;
    RequestDeadline& operator=(const RequestDeadline&) = delete;

    void started(int socket);
    void answered(int socket);
    void ended(int socket);  // call it before the descriptor is closed, because the kernel reuses its number

  private:
    struct Connection {
        int age = 0;  // in steps
        bool answered = false;
        std::uint64_t number = 0;  // in the order of arrival
        bool ended = false;        // shut down by us; the server has not closed it yet
    };
    static void cut_off(int socket, Connection& connection, std::string_view answer);
    void make_room();
    void age_all();
    void run();

    const Seconds step_;
    const std::size_t most_;  // connections at a time
    std::mutex mutex_{};
    std::condition_variable wake_{};
    std::map<int, Connection> connections_{};
    std::uint64_t arrived_ = 0;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace memscope
