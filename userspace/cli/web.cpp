#include "cli/web.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/print.h"
#include "cli/signals.h"
#include "outputs/http/http_client.h"
#include "outputs/http/http_server.h"
#include "record/record.h"
#include "review/find_recording.h"
#include "watch/self/least_privilege.h"
#include "watch/targets/own_command.h"
#include "web/page_routes.h"

namespace memscope {
namespace {

using web::BrowserSession;
using web::PageData;
using web::PageFiles;
using web::RecordedRun;

constexpr int kNotPossible = 2;

AskFailure not_possible(const Error& error) { return {error, kNotPossible}; }

std::variant<std::unique_ptr<PageData>, AskFailure> open_recording(const WebOptions& options) {
    const auto path = find_recording(*options.recording, options.directory);
    if (!path) return not_possible(path.error());
    const auto opened = Recording::open(*path);
    if (!opened) return not_possible(opened.error());
    auto run = RecordedRun::open(*path, named_target(*opened, options.target, *options.recording));
    if (!run) return not_possible(run.error());
    auto data = PageData::of_recording(*std::move(run));
    if (!data) return not_possible(data.error());
    return *std::move(data);
}

// The recording that the watcher writes now, or a sentence that says why it cannot be shown.
struct Past {
    std::optional<RecordedRun> recorded{};
    std::string missing{};
};

Past find_past(const WatchedTarget& target, const Snapshot& now, const fs::path& directory) {
    constexpr double kLongAgo = 60;  // seconds; ticks are committed after 2 s
    const auto missing = [](std::string_view why) {
        return Past{.missing = fmt::format("The page begins with the start of memscope web: {}.", why)};
    };
    if (!now.self.recording) return missing("the watcher records nothing (--record none)");
    const auto path = find_recording(target.name, directory);
    if (!path) return missing(path.error().message());
    auto run = RecordedRun::open(*path, target.name);
    if (!run) return missing(run.error().message());
    const auto last = run->last_time();
    if (!last) return missing(last.error().message());
    if (!*last || now.time - **last > kLongAgo)
        return missing(path->string() + " is not the recording of this watcher");
    return {.recorded = *std::move(run)};
}

std::variant<std::unique_ptr<PageData>, AskFailure> open_watcher(const WatchedTarget& target,
                                                                 const WebOptions& options) {
    const web::AskWatcher ask = [socket = target.socket](const std::string& path, Seconds patience) {
        return http_get_unix(socket, path, patience);
    };
    const auto answer = ask("/api/v1/record?target=" + percent_encoded(target.name), Seconds{5});
    if (!answer) return AskFailure{answer.error()};
    const auto now = decode_record<Snapshot>(answer->body);
    if (answer->status != 200 || !now)
        return AskFailure{plain_error("the running watcher has another version",
                                      "restart the watcher, or use the memscope that it was started with")};
    Past past = find_past(target, *now, options.directory);
    auto data = PageData::of_watcher(ask, target.name, std::move(past.recorded), std::move(past.missing));
    if (!data) return AskFailure{data.error()};
    return *std::move(data);
}

// Joins the group of the watcher's socket, so that the socket can still be used after drop_root().
Status join_group_of(const fs::path& socket) {
    struct stat file{};
    if (::stat(socket.c_str(), &file) != 0) return system_error(errno, "stat " + socket.string());
    std::vector<gid_t> groups(256);
    const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
    if (count < 0) return system_error(errno, "getgroups");
    groups.resize(static_cast<std::size_t>(count));
    if (std::ranges::find(groups, file.st_gid) == groups.end()) groups.push_back(file.st_gid);
    if (::setgroups(groups.size(), groups.data()) != 0) return system_error(errno, "setgroups");
    return Done{};
}

// With sudo: becomes the user who called sudo. Otherwise root gives up its capabilities. Called when all files are open
// and before other threads run.
Status drop_root(const std::optional<fs::path>& socket) {
    if (::geteuid() != 0) return Done{};
    const auto identity = command_identity({});
    if (!identity) return identity.error();
    if (*identity && ::initgroups((**identity).name.c_str(), (**identity).gid) != 0)
        return system_error(errno, "initgroups");
    if (socket)
        if (auto joined = join_group_of(*socket); !joined) return joined;
    if (!*identity) return limit_to({});
    const gid_t gid = (**identity).gid;
    const uid_t uid = (**identity).uid;
    if (::setresgid(gid, gid, gid) != 0) return system_error(errno, "setresgid");
    if (::setresuid(uid, uid, uid) != 0) return system_error(errno, "setresuid");
    ::setenv("HOME", (**identity).home.c_str(), 1);
    return Done{};
}

// True if a browser on this machine can show the page to the user.
bool has_browser() {
    const bool display = std::getenv("DISPLAY") || std::getenv("WAYLAND_DISPLAY");
    return display && !std::getenv("SSH_CONNECTION");
}

// Starts the browser in a session of its own, so that it does not end with this program.
void open_browser(const std::string& url) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::fork() != 0) ::_exit(0);
        ::setsid();
        sigset_t none;
        sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
            if (null >= 0) ::dup2(null, fd);
        ::execlp("xdg-open", "xdg-open", url.c_str(), nullptr);
        ::_exit(127);
    }
    if (child > 0) ::waitpid(child, nullptr, 0);
}

std::string ssh_hint(std::uint16_t port) {
    if (!std::getenv("SSH_CONNECTION")) return {};
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') std::snprintf(name, sizeof name, "HOST");
    return fmt::format(
        "This is a remote machine. On your own machine, first run\n  ssh -L {0}:127.0.0.1:{0} {1}\nand open the link "
        "there.\n",
        port, printable(name));
}

class Server {
  public:
    Server(PageFiles files, std::unique_ptr<PageData> data) : files_(std::move(files)), data_(std::move(data)) {}

    Status start(const ListenAddress& address) {
        // The port is a part of the name of the cookie, and a port of 0 is chosen by the kernel.
        auto socket = listen_on_tcp(address);
        if (!socket) return socket.error();
        address_ = {address.host, port_of(*socket)};
        session_.emplace(address_.port, [] {
            (void)print("A browser has opened the page. If that was not you, end memscope web now.\n");
        });
        auto server = HttpServer::on_socket(*socket, address_, make_page_routes(files_, *data_, *session_));
        if (!server) return server.error();
        server_.emplace(*std::move(server));
        data_->start();
        return Done{};
    }

    Result<std::string> new_url() {
        const auto token = session_->new_token();
        if (!token) return token.error();
        return fmt::format("http://{}/?token={}", address_.text(), *token);
    }
    std::uint16_t port() const { return address_.port; }

  private:
    PageFiles files_;
    std::unique_ptr<PageData> data_;
    ListenAddress address_{};
    std::optional<BrowserSession> session_{};
    std::optional<HttpServer> server_{};  // last, because its threads use all other members
};

// Reads the signals that have arrived. True: one of them ends the program. `another`: SIGUSR1 requests another link.
bool take_signals(int fd, bool& another) {
    signalfd_siginfo info{};
    while (::read(fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGUSR1)
            another = true;
        else if (info.ssi_signo != SIGTTIN)
            return true;
    }
    return false;
}

// Prints another link whenever the user presses Enter or sends SIGUSR1.
Status wait_for_end(Server& server, int signals) {
    bool input = ::isatty(STDIN_FILENO) == 1;
    for (;;) {
        pollfd ready[] = {{signals, POLLIN, 0}, {input ? STDIN_FILENO : -1, POLLIN, 0}};
        if (::poll(ready, std::size(ready), -1) < 0 && errno != EINTR) return system_error(errno, "poll");
        bool another = false;
        if (ready[0].revents != 0 && take_signals(signals, another)) return Done{};
        if (ready[1].revents != 0) {
            char line[256];
            input = ::read(STDIN_FILENO, line, sizeof line) > 0;
            another = another || input;
        }
        if (!another) continue;
        const auto url = server.new_url();
        if (!url) return url.error();
        if (auto printed = print(*url + "\n"); !printed) return printed;
    }
}

}  // namespace

std::variant<int, AskFailure> serve_page(const SysRoot& root, const WebOptions& options) {
    auto files = web::load_page_files();
    if (!files) return not_possible(files.error());
    std::optional<fs::path> socket;
    std::variant<std::unique_ptr<PageData>, AskFailure> opened;
    if (options.recording) {
        opened = open_recording(options);
    } else {
        auto found = find_watcher(root, options.target);
        if (auto* failure = std::get_if<AskFailure>(&found)) return std::move(*failure);
        socket = std::get<WatchedTarget>(found).socket;
        opened = open_watcher(std::get<WatchedTarget>(found), options);
    }
    if (auto* failure = std::get_if<AskFailure>(&opened)) return std::move(*failure);
    if (auto dropped = drop_root(socket); !dropped) return AskFailure{dropped.error()};
    // Called before there are threads, because threads inherit the mask. SIGTTIN is blocked, so that in the background
    // read() from the terminal fails and the signal does not stop the process.
    const auto signals = open_signals({SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGTTIN});
    if (!signals) return AskFailure{signals.error()};

    Server server(*std::move(files), std::move(std::get<std::unique_ptr<PageData>>(opened)));
    if (auto started = server.start(options.listen); !started) return not_possible(started.error());
    const auto url = server.new_url();
    if (!url) return AskFailure{url.error()};
    const bool terminal = ::isatty(STDIN_FILENO) == 1;
    const std::string text =
        fmt::format("{}\n{}The link works once.{} Ctrl-C ends memscope web.\n", *url, ssh_hint(server.port()),
                    terminal ? " Press Enter for another one." : " SIGUSR1 makes another one.");
    if (auto printed = print(text); !printed) return AskFailure{printed.error()};
    if (options.browser && has_browser()) open_browser(*url);
    if (auto ended = wait_for_end(server, signals->get()); !ended) return AskFailure{ended.error()};
    return 0;
}

}  // namespace memscope
