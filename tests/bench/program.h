#pragma once
#include <arpa/inet.h>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/fd.h"

namespace memscope {

inline void sleep_ms(int ms) { ::usleep(static_cast<useconds_t>(ms) * 1000); }

// Polls until the condition holds. The timeout does not affect what is measured.
inline bool eventually(const std::function<bool()>& holds, int seconds = 30) {
    for (int i = 0; i < seconds * 50; ++i, sleep_ms(20))
        if (holds()) return true;
    return false;
}

// A program that runs in parallel with the benchmark until this object is destroyed. Its output goes to a file, by
// default to /dev/null.
class Program {
  public:
    explicit Program(std::vector<std::string> command, const std::string& output = "/dev/null") {
        std::vector<char*> argv;
        for (std::string& word : command) argv.push_back(word.data());
        argv.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        ::posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
        const int error = ::posix_spawn(&pid_, argv.front(), &actions, nullptr, argv.data(), environ);
        ::posix_spawn_file_actions_destroy(&actions);
        if (error != 0) throw std::runtime_error("cannot run " + command.front());
        ::clock_getcpuclockid(pid_, &clock_);
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() { end(); }

    pid_t pid() const { return pid_; }
    bool ended() {
        if (!status_) {
            int status = 0;
            if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
        }
        return status_.has_value();
    }
    void end() {
        if (ended()) return;
        ::kill(pid_, SIGTERM);
        int status = 0;
        ::waitpid(pid_, &status, 0);
        status_ = status;
    }
    int exit_status() const { return status_ && WIFEXITED(*status_) ? WEXITSTATUS(*status_) : -1; }

    // User and system time of all its threads, to the nanosecond: /proc/PID/stat has it in steps of 10 ms.
    double cpu_ms() const {
        timespec time{};
        if (::clock_gettime(clock_, &time) != 0) throw std::runtime_error("the program is gone");
        return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
    }

  private:
    pid_t pid_ = -1;
    clockid_t clock_{};
    std::optional<int> status_{};
};

inline sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

inline int free_port() {
    const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
        throw std::runtime_error("no free port");
    return ntohs(address.sin_port);
}

// The body of http://127.0.0.1:PORT/metrics, or of another page there; empty if there is no answer. Uses HTTP 1.0, so
// that no server sends chunks.
inline std::string scrape(int port, const std::string& path = "/metrics") {
    const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(port);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
    const std::string request = "GET " + path + " HTTP/1.0\r\nHost: localhost\r\n\r\n";
    if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return {};
    std::string answer;
    char buffer[65536];
    for (ssize_t n = 0; (n = ::recv(socket.get(), buffer, sizeof buffer, 0)) > 0;)
        answer.append(buffer, static_cast<std::size_t>(n));
    const auto body = answer.find("\r\n\r\n");
    return body == std::string::npos ? std::string() : answer.substr(body + 4);
}

// The sum over all series of that name; none if there is no such series.
inline std::optional<double> metric(const std::string& page, const std::string& name) {
    std::optional<double> sum;
    for (std::size_t at = 0; at < page.size();) {
        const std::size_t end = std::min(page.find('\n', at), page.size());
        const std::string line = page.substr(at, end - at);
        at = end + 1;
        if (!line.starts_with(name) || (line[name.size()] != '{' && line[name.size()] != ' ')) continue;
        sum = sum.value_or(0) + std::strtod(line.c_str() + line.rfind(' '), nullptr);
    }
    return sum;
}

// The real program, as a user starts it, at its default interval.
class Watcher {
  public:
    explicit Watcher(const std::string& cgroup, const std::vector<std::string>& more = {},
                     const std::string& program = MEMSCOPE_PROGRAM)
        : port_(free_port()), program_(command(program, cgroup, port_, more)) {
        eventually([this] { return program_.ended() || metric(page(), "memscope_target_up").value_or(0) == 1; });
    }

    bool watches() { return !program_.ended() && metric(page(), "memscope_target_up").value_or(0) == 1; }
    int exit_status() const { return program_.exit_status(); }
    std::string page(const std::string& path = "/metrics") const { return scrape(port_, path); }
    Program& program() { return program_; }
    const Program& program() const { return program_; }

    // A page that includes everything before this call: that of the second tick from now.
    std::string next_page() const {
        timespec now{};
        ::clock_gettime(CLOCK_REALTIME, &now);
        const double enough = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 + 1;
        ::sleep(1);  // each request costs the watcher CPU time
        std::string latest;
        const auto later = [&] {
            latest = page();
            return metric(latest, "memscope_last_tick_timestamp_seconds").value_or(0) > enough;
        };
        if (!eventually(later)) throw std::runtime_error("memscope does not tick");
        return latest;
    }

  private:
    static std::vector<std::string> command(const std::string& program, const std::string& cgroup, int port,
                                            const std::vector<std::string>& more) {
        std::vector<std::string> words = {
            program, "--cgroup", cgroup, "--listen", "127.0.0.1:" + std::to_string(port), "--quiet", "--linger", "0s"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }

    int port_;
    Program program_;
};

}  // namespace memscope
