#include "watch/helpers/process_reader.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/result.h"
#include "base/text.h"
#include "watch/clock.h"

namespace memscope {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::size_t kMostRequests = 8192;
constexpr std::uint64_t kSweepEveryNs = kNsPerSecond;
// A process that blocked a helper is not read for 10 s, then 20 s, and so on up to 43 minutes.
constexpr std::uint64_t kFirstBackOffNs = 10 * kNsPerSecond;
constexpr unsigned kMostDoublings = 8;
constexpr std::size_t kMostBackOffs = 4096;
// Processes of one cgroup that may block helpers at the same time. If there are more, no process of the cgroup is read,
// so that a job cannot use up all helpers.
constexpr std::size_t kMostOfCgroup = 3;
// A helper that is late but works gets this many times its deadline, because it may be slow on a busy machine.
constexpr std::uint64_t kMostDeadlines = 10;
// A delay, so that a helper that fails at each start does not use a whole core.
constexpr std::uint64_t kRestartDelayNs = 50'000'000;
constexpr std::uint64_t kSpawnAgainNs = kNsPerSecond;  // after spawn() has failed

std::uint64_t now() { return read_clock().boot_ns; }
std::uint64_t ns(Seconds time) { return static_cast<std::uint64_t>(time.count() * 1e9); }
Error timed_out() { return system_error(ETIMEDOUT, "read a process that blocks its readers"); }

std::uint64_t id_of(const Message& message) {
    std::uint64_t id = 0;
    if (message.text.size() >= sizeof id) std::memcpy(&id, message.text.data(), sizeof id);
    return id;
}

std::string_view bytes_of(const std::uint64_t& id) { return {reinterpret_cast<const char*>(&id), sizeof id}; }

bool has_ended(const Fd& process) {
    pollfd wanted{process.get(), POLLIN, 0};
    return ::poll(&wanted, 1, 0) == 1;
}

// The value of a line "NAME:\tVALUE" of a file in /proc; empty if there is none.
std::string_view value_of(std::string_view text, std::string_view name) {
    std::string_view value;
    for_each_line(text, [&](std::string_view line) {
        if (line.starts_with(name)) value = trimmed(line.substr(name.size()));
    });
    return value;
}

// The process of a pidfd, in our own pid namespace.
pid_t pid_of(const Fd& process) {
    const auto info = read_file(fmt::format("/proc/self/fdinfo/{}", process.get()), 4096);
    return info ? static_cast<pid_t>(parse_number(value_of(*info, "Pid:")).value_or(0)) : 0;
}

}  // namespace

ProcessReader::ProcessReader(std::shared_ptr<HelperSpawner> spawner, Settings settings)
    : spawner_(std::move(spawner)),
      settings_(std::move(settings)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      patience_(settings_.patience) {}

ProcessReader::~ProcessReader() {
    if (helper_) (void)::syscall(SYS_pidfd_send_signal, helper_.get(), SIGKILL, nullptr, 0);
}

std::string ProcessReader::cgroup_of(pid_t pid) const {
    const auto text = read_file(settings_.root.proc / std::to_string(pid) / "cgroup", 65536);
    return text ? *text : std::string();
}

bool ProcessReader::is_blocked(pid_t pid) {
    if (back_offs_.empty() && abandoned_.empty()) return false;
    const std::uint64_t at = now();
    if (const auto found = back_offs_.find(pid); found != back_offs_.end() && at < found->second.until_ns) return true;
    if (std::ranges::any_of(abandoned_, [&](const Abandoned& each) { return each.pid == pid; })) return true;
    const std::string cgroup = cgroup_of(pid);
    if (cgroup.empty()) return false;
    const auto is_same_cgroup = [&](const auto& cgroup_of_other) { return cgroup_of_other == cgroup; };
    const auto stuck = std::ranges::count_if(abandoned_, is_same_cgroup, &Abandoned::cgroup);
    const auto backing_off = std::ranges::count_if(
        back_offs_, [&](const auto& each) { return at < each.second.until_ns && each.second.cgroup == cgroup; });
    return static_cast<std::size_t>(std::max(stuck, backing_off)) >= kMostOfCgroup;
}

void ProcessReader::add_trouble(Error trouble) {
    const std::lock_guard lock(troubles_mutex_);
    troubles_.push_back(std::move(trouble));
}

std::vector<Error> ProcessReader::take_troubles() {
    const std::lock_guard lock(troubles_mutex_);
    return std::exchange(troubles_, {});
}

void ProcessReader::back_off(pid_t pid, const std::string& why, std::uint64_t now_ns) {
    if (back_offs_.size() >= kMostBackOffs)
        std::erase_if(back_offs_, [&](const auto& each) { return each.second.until_ns <= now_ns; });
    const bool first = !back_offs_.contains(pid);
    BackOff& entry = back_offs_[pid];
    entry.until_ns = now_ns + (kFirstBackOffNs << std::min(entry.times, kMostDoublings));
    ++entry.times;
    entry.cgroup = cgroup_of(pid);
    if (!first) return;
    const auto comm = read_file(settings_.root.proc / std::to_string(pid) / "comm", 64);
    add_trouble(
        plain_error(fmt::format("process {} ({}) {}", pid, comm ? printable(std::string(trimmed(*comm))) : "gone", why),
                    "its command line, Python code and shared memory may be missing; memscope reads it again later"));
}

bool ProcessReader::has_helper() {
    if (socket_) return true;
    const std::uint64_t at = now();
    if (at < not_before_ns_ || abandoned_.size() >= kMostAbandoned) return false;
    not_before_ns_ = at + kRestartDelayNs;
    auto socket = spawner_->spawn(settings_.helper);
    if (!socket) {
        // The end of the spawner is reported by the loop: see Collector::has_helpers().
        if (!std::exchange(spawn_failed_, true) && spawner_->is_alive()) add_trouble(socket.error());
        not_before_ns_ = at + kSpawnAgainNs;
        return false;
    }
    spawn_failed_ = false;
    socket_ = std::move(*socket);
    epoll_event event{};
    event.events = EPOLLIN;
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket_.get(), &event);
    return true;
}

ProcessReader::Request& ProcessReader::enqueue(const Packer& job, pid_t pid) {
    auto request = std::make_unique<Request>();
    request->id = next_id_++;
    request->pid = pid;
    request->bytes = job.bytes();
    Request& placed = *request;
    requests_[job.bytes()] = std::move(request);
    for (const int fd : job.fds()) {
        placed.fds.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
        if (placed.fds.back()) continue;
        fail(placed, system_error(errno, "copy a file descriptor for a helper"));
        return placed;
    }
    waiting_.push_back(&placed);
    return placed;
}

void ProcessReader::fail(Request& request, Error why) {
    request.fds.clear();
    request.reply.failure = std::move(why);
    request.answered_ns = now();
}

void ProcessReader::send_more() {
    while (!waiting_.empty() && has_helper()) {
        Request& request = *waiting_.front();
        std::vector<int> fds;
        fds.reserve(request.fds.size());
        for (const Fd& fd : request.fds) fds.push_back(fd.get());
        const SendOutcome outcome = send_message(socket_, bytes_of(request.id), request.bytes, fds, MSG_DONTWAIT);
        if (outcome == SendOutcome::full) return;
        if (outcome == SendOutcome::closed) {  // the next helper gets the waiting requests
            receive();                         // answers from before its end
            if (socket_) replace_helper("ended the helper process that read it", now());
            continue;
        }
        const int error = errno;
        waiting_.pop_front();
        if (outcome == SendOutcome::failed) {
            fail(request, system_error(error, "send a job to a helper"));
            continue;
        }
        if (sent_.empty()) head_since_ns_ = now();
        sent_.push_back(&request);
    }
}

void ProcessReader::accept(Message message) {
    const std::uint64_t id = id_of(message);
    if (message.lost_fds) return accept_without_descriptors(message, id);
    if (id == 0 && message.fds.size() == 1) {
        helper_ = std::move(message.fds.front());
        helper_pid_ = pid_of(helper_);
        gave_up_ = false;
        return;
    }
    if (sent_.empty() || sent_.front()->id != id) return;
    Request& request = *sent_.front();
    sent_.pop_front();
    head_since_ns_ = request.answered_ns = now();
    request.fds.clear();
    request.reply.message = std::move(message);
    ++answers_;
}

// The watcher has no file descriptor left. Neither the helper nor the process that it reads has caused that.
void ProcessReader::accept_without_descriptors(const Message& message, std::uint64_t id) {
    if (!message.text.empty() && id == 0) {  // without its pidfd a helper cannot be killed
        close_helper();
        waiting_.insert(waiting_.begin(), sent_.begin(), sent_.end());
        sent_.clear();
        return;
    }
    if (sent_.empty() || (!message.text.empty() && sent_.front()->id != id)) return;
    Request& request = *sent_.front();
    sent_.pop_front();
    head_since_ns_ = request.answered_ns = now();
    request.fds.clear();
    request.reply.failure = system_error(EMFILE, "receive the answer of a helper");
}

void ProcessReader::receive() {
    while (socket_) {
        auto message = receive_message(socket_, MSG_DONTWAIT);
        if (message) {
            accept(std::move(*message));
            continue;
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK) replace_helper("ended the helper process that read it", now());
        return;
    }
}

// The helper ends when its socket is closed.
void ProcessReader::close_helper() {
    helper_ = Fd();
    helper_pid_ = 0;
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket_.get(), nullptr);
    socket_ = Fd();
}

// Fails the first job that was sent to the helper, because the helper was working on it. The next helper does the other
// jobs.
void ProcessReader::replace_helper(const std::string& why, std::uint64_t now_ns) {
    ++restarts_;
    const bool blames = !sent_.empty();
    if (helper_) {
        (void)::syscall(SYS_pidfd_send_signal, helper_.get(), SIGKILL, nullptr, 0);
        if (blames) abandoned_.push_back({std::move(helper_), sent_.front()->pid, cgroup_of(sent_.front()->pid)});
    }
    close_helper();
    if (blames) {
        Request& first = *sent_.front();
        sent_.pop_front();
        first.reply.failure = timed_out();
        first.answered_ns = now_ns;
        back_off(first.pid, why, now_ns);
    }
    waiting_.insert(waiting_.begin(), sent_.begin(), sent_.end());
    sent_.clear();
    const auto is_hopeless = [this](const Request* request) { return is_blocked(request->pid); };
    for (Request* request : waiting_)
        if (is_hopeless(request)) {
            request->reply.failure = timed_out();
            request->answered_ns = now_ns;
        }
    std::erase_if(waiting_, [](const Request* request) { return request->answered_ns != 0; });
}

void ProcessReader::fail_all(const Error& why) {
    for (Request* request : waiting_) fail(*request, why);
    waiting_.clear();
}

// Fails the waiting requests if too many helpers are blocked, or if no helper could be started within the deadline,
// because callers must not wait for ever. After that, further requests fail at once until a helper has started, so that
// a caller with many requests does not wait for each of them.
void ProcessReader::fail_without_helper(std::uint64_t now_ns) {
    if (waiting_.empty() || helper_) {
        no_helper_since_ns_ = 0;
        return;
    }
    if (!socket_ && abandoned_.size() >= kMostAbandoned)
        return fail_all(system_error(ETIMEDOUT, "read a process: too many helpers are blocked"));
    if (no_helper_since_ns_ == 0) no_helper_since_ns_ = now_ns;
    if (!gave_up_ && now_ns - no_helper_since_ns_ < ns(settings_.deadline)) return;
    gave_up_ = true;
    fail_all(system_error(kNoHelper, "read a process: no helper process can be started"));
}

void ProcessReader::sweep(std::uint64_t now_ns) {
    std::erase_if(abandoned_, [](const Abandoned& each) { return has_ended(each.process); });
    if (now_ns - swept_ns_ < kSweepEveryNs) return;
    swept_ns_ = now_ns;
    drop_untaken(now_ns);
    // A back-off is forgotten once the process has not blocked a helper for as long as the last back-off took.
    std::erase_if(back_offs_, [&](const auto& each) {
        const BackOff& entry = each.second;
        return now_ns > entry.until_ns + (kFirstBackOffNs << std::min(entry.times, kMostDoublings));
    });
}

void ProcessReader::drop_untaken(std::uint64_t now_ns) {
    std::erase_if(requests_, [&](const auto& each) {
        return each.second->answered_ns != 0 && now_ns - each.second->answered_ns > ns(kept_);
    });
    const auto is_older = [](const auto& a, const auto& b) { return a->second->answered_ns < b->second->answered_ns; };
    std::size_t bytes = 0;
    std::vector<decltype(requests_)::iterator> answered;
    for (auto each = requests_.begin(); each != requests_.end(); ++each) {
        if (each->second->answered_ns == 0) continue;
        bytes += each->second->reply.message.text.size();
        answered.push_back(each);
    }
    if (bytes <= kMostKeptBytes) return;
    std::ranges::sort(answered, is_older);
    answered.pop_back();  // the newest stays, however large it is: otherwise it would be read again for ever
    for (const auto& oldest : answered) {
        if (bytes <= kMostKeptBytes) return;
        bytes -= oldest->second->reply.message.text.size();
        requests_.erase(oldest);
    }
}

std::optional<ProcessReader::Activity> ProcessReader::activity_of_helper() const {
    if (helper_pid_ == 0) return std::nullopt;  // it has not started yet
    const auto status = read_file(fmt::format("/proc/{}/status", helper_pid_), 65536);
    if (!status) return std::nullopt;
    return Activity{.runs = value_of(*status, "State:").starts_with('R'),
                    .switches = parse_number(value_of(*status, "voluntary_ctxt_switches:")).value_or(0) +
                                parse_number(value_of(*status, "nonvoluntary_ctxt_switches:")).value_or(0)};
}

// Whether the process that is read blocks the helper. On a busy machine a helper can be late because it gets no CPU
// time. It is stuck if it is not runnable and has not run at all for a quarter of the deadline, or if it is late by
// kMostDeadlines deadlines.
bool ProcessReader::is_stuck(std::uint64_t now_ns) {
    const std::uint64_t deadline = ns(settings_.deadline);
    if (sent_.empty() || now_ns - head_since_ns_ < deadline) return false;
    if (now_ns - head_since_ns_ >= kMostDeadlines * deadline) return true;
    const auto activity = activity_of_helper();
    if (!activity) return false;
    if (activity->runs || activity != late_activity_ || late_since_ns_ < head_since_ns_) {
        late_activity_ = activity;
        late_since_ns_ = now_ns;
        return false;
    }
    return now_ns - late_since_ns_ >= deadline / 4;
}

void ProcessReader::pump() {
    sweep(now());  // before receive(), because ask() and call() still need the request whose answer is received now
    receive();
    const std::uint64_t at = now();
    if (is_stuck(at))
        replace_helper(
            fmt::format("blocks its reader: no answer in {:.1f} s", static_cast<double>(at - head_since_ns_) * 1e-9),
            at);
    send_more();
    fail_without_helper(at);
}

void ProcessReader::submit_packed(const Packer& job, pid_t pid) {
    if (requests_.contains(job.bytes()) || requests_.size() >= kMostRequests || is_blocked(pid)) return;
    (void)enqueue(job, pid);
    send_more();
}

std::optional<ProcessReader::Reply> ProcessReader::ask_packed(const Packer& job, pid_t pid) {
    auto found = requests_.find(job.bytes());
    if (found == requests_.end()) {
        if (is_blocked(pid)) return Reply{.failure = timed_out(), .message = {}};
        submit_packed(job, pid);
        found = requests_.find(job.bytes());
        if (found == requests_.end()) return std::nullopt;  // there are too many requests
    }
    const Request& request = *found->second;
    if (request.answered_ns == 0) pump();
    while (request.answered_ns == 0 && patience_ > Seconds{0} && !sent_.empty()) {
        const std::uint64_t began = now();
        constexpr int kPollMs = 5;
        pollfd answers{socket_.get(), POLLIN, 0};
        (void)::poll(&answers, 1, kPollMs);
        patience_ -= Seconds(static_cast<double>(now() - began) * 1e-9);
        pump();
    }
    if (request.answered_ns == 0) return std::nullopt;
    Reply reply = std::move(found->second->reply);
    requests_.erase(found);
    return reply;
}

ProcessReader::Reply ProcessReader::call_packed(const Packer& job, pid_t pid) {
    const std::lock_guard lock(call_mutex_);
    if (is_blocked(pid)) return {.failure = timed_out(), .message = {}};
    requests_.erase(job.bytes());
    Request& request = enqueue(job, pid);
    pump();
    while (request.answered_ns == 0) {
        pollfd wanted[] = {{stop_.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}};
        constexpr int kPollMs = 100;  // pump() checks the deadline
        (void)::poll(wanted, std::size(wanted), kPollMs);
        if (wanted[0].revents != 0) {
            request.reply.failure = system_error(ECANCELED, "read a process");
            std::erase(waiting_, &request);
            std::erase(sent_, &request);  // its answer will be ignored
            request.answered_ns = now();
            break;
        }
        pump();
    }
    Reply reply = std::move(request.reply);
    requests_.erase(job.bytes());
    return reply;
}

void ProcessReader::stop() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(stop_.get(), &one, sizeof one);
}

void serve_requests(const Fd& socket, const HelperWork& work) {
    const Fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    const std::uint64_t no_request = 0;
    const int own[] = {self.get()};
    if (!self || send_message(socket, bytes_of(no_request), {}, own, 0) != SendOutcome::sent) return;
    while (auto message = receive_message(socket, 0)) {
        if (message->lost_fds) return;
        const std::uint64_t id = id_of(*message);
        Unpacker job(std::string_view(message->text).substr(sizeof id), std::move(message->fds));
        const Packer answer = work(job);
        SendOutcome outcome = send_message(socket, bytes_of(id), answer.bytes(), answer.fds(), 0);
        while (outcome == SendOutcome::full) {  // the watcher reads at least once a tick
            ::usleep(1000);
            outcome = send_message(socket, bytes_of(id), answer.bytes(), answer.fds(), 0);
        }
        if (outcome == SendOutcome::failed) return;
    }
}

}  // namespace memscope
