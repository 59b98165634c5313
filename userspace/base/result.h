#pragma once
#include <cerrno>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace memscope {

// An error of the environment. `where` names the call and its object ("open /sys/fs/cgroup/a/memory.stat"), `advice`
// says what the user can do about it. Either may be empty.
struct Error {
    std::error_code code{};
    std::string where{};
    std::string advice{};

    std::string message() const;  // always one line of printable characters
};

Error system_error(int number, std::string where, std::string advice = {});
Error plain_error(std::string where, std::string advice = {});

// The error of a read that was not done because no helper process could do it.
inline constexpr int kNoHelper = ECONNABORTED;

// True if the error says nothing about the process or the file that was to be read, so that the read should be repeated
// later: the process blocks its readers, no helper process could read it, or no file descriptor or memory was free.
bool is_retryable(const Error& error);

// Shaped like std::expected, which g++ 12 lacks in C++20.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const { return state_.index() == 0; }
    T& operator*() & { return std::get<0>(state_); }
    const T& operator*() const& { return std::get<0>(state_); }
    T&& operator*() && { return std::get<0>(std::move(state_)); }
    T* operator->() { return &std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }
    const Error& error() const { return std::get<1>(state_); }

  private:
    std::variant<T, Error> state_;
};

struct Done {};
using Status = Result<Done>;

}  // namespace memscope
