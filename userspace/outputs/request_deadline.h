#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "base/units.h"

namespace memscope {

// libmicrohttpd times out only silence: a client that sends one byte every few seconds would hold its connection
// for hours. This bounds the whole: a request that has not arrived in time is answered 408, a response that has
// not been read in four times that is cut off.
class RequestDeadline {
  public:
    explicit RequestDeadline(Seconds limit);
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
    };
    void age_all();
    void run();

    const Seconds step_;
    std::mutex mutex_{};
    std::condition_variable wake_{};
    std::map<int, Connection> connections_{};
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace memscope
