#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"

namespace memscope {

// Waits on descriptors that share one time budget. The kernel's timer counts: no clock is read here.
class Deadline {
  public:
    static Result<Deadline> in(Seconds budget);

    enum class Wait { ready, expired };
    Wait wait_for(int fd, short events) const;  // poll(2) events; errors of the descriptor count as ready

  private:
    explicit Deadline(Fd timer) : timer_(std::move(timer)) {}
    Fd timer_;
};

// libmicrohttpd times out only silence: a client that sends one byte every few seconds would hold its connection
// for hours. This bounds the whole: a request that has not arrived in time is answered 408, a response that has
// not been read in four times that is cut off. Nor are all places ever taken: whoever comes when there are too many
// takes the place of who has been there longest. An answer takes milliseconds, so that is somebody who asks for
// nothing.
class RequestDeadline {
  public:
    RequestDeadline(Seconds limit, std::size_t most);
    ~RequestDeadline();
    RequestDeadline(const RequestDeadline&) = delete;
    RequestDeadline& operator=(const RequestDeadline&) = delete;

    void started(int socket);
    void answered(int socket);
    void ended(int socket);  // must come before the descriptor is closed: its number is used again

  private:
    struct Connection {
        int age = 0;  // in steps
        bool answered = false;
        std::uint64_t number = 0;  // in the order of arrival
        bool ended = false;        // by us; the server has yet to notice
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
