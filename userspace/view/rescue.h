#pragma once
#include <string>
#include <termios.h>

namespace memscope::view {

// While it lives, a program that crashes, aborts or calls exit() puts the terminal back before it dies. One at a time.
class Rescue {
  public:
    Rescue(int fd, const termios& modes, const std::string& farewell);  // the fd stays the caller's
    Rescue(const Rescue&) = delete;
    Rescue& operator=(const Rescue&) = delete;
    ~Rescue();
};

}  // namespace memscope::view
