#pragma once
#include <unistd.h>
#include <utility>

namespace memscope {

// The one owner of a file descriptor.
class Fd {
  public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd& operator=(Fd other) noexcept {  // the old descriptor closes with `other`
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Fd() {
        if (fd_ >= 0) ::close(fd_);
    }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }  // for a library that closes it

  private:
    int fd_ = -1;
};

}  // namespace memscope
