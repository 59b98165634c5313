#include "watch/actions/actions.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <set>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/deaths/death_moment.h"
#include "analysis/limits/processes_to_notify.h"
#include "base/text.h"
#include "watch/actions/action_process.h"

namespace memscope {
namespace {

constexpr std::string_view kHelperEnded = "the process that runs commands has ended";

std::string option_of(ActionEvent event) { return fmt::format("--on-{}", name_of(event)); }

std::string named(std::string_view comm, pid_t pid) { return fmt::format("{} (pid {})", printable(comm), pid); }

PendingAction precursor_action(const Snapshot& snapshot, const TargetSnapshot& target, const Precursor& precursor,
                               const std::string& recording) {
    ActionFacts facts = precursor_facts(snapshot, target, precursor, recording);
    PendingAction action{.request = {.event = ActionEvent::precursor,
                                     .environment = std::move(facts.environment),
                                     .facts = std::move(facts.json)},
                         .target = target.info.name,
                         .what = std::string(name_of(precursor.kind))};
    const ProcessesToNotify who = processes_to_notify(target);
    if (who.chosen) {
        action.concerns = who.chosen->task.id;
        action.what += ", " + named(who.chosen->task.comm, who.chosen->task.id.pid);
    }
    for (const Process* trainer : who.trainers)
        if (action.trainers.size() < kMostTrainersListed) action.trainers.push_back(trainer->task.id);
    return action;
}

PendingAction death_action(const ReportedDeath& report, const std::string& recording) {
    const Death& decisive = report.deaths.front();
    ActionFacts facts = death_facts(report, recording);
    return {.request = {.event = ActionEvent::death,
                        .environment = std::move(facts.environment),
                        .facts = std::move(facts.json)},
            .target = report.target.name,
            .what = fmt::format("{}, {}", name_of(decisive.cause), named(decisive.comm, decisive.id.pid))};
}

// Whether execvp() would find the program now. The helper may see another file system later.
bool can_be_found(const std::string& program) {
    if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
    const char* path = std::getenv("PATH");
    const std::string_view directories = path ? path : "/bin:/usr/bin";
    return std::ranges::any_of(split(directories, ':'), [&](std::string_view directory) {
        return ::access((fs::path(directory.empty() ? "." : directory) / program).c_str(), X_OK) == 0;
    });
}

}  // namespace

Result<Actions> Actions::start(const WatchOptions& options, IsAlive is_alive) {
    ActionCommands commands{.words = {options.on_precursor, options.on_death}, .timeout = options.on_timeout};
    // Commands must not write to the terminal of the live view.
    const bool view = !options.json && !options.quiet && options.command.empty() && ::isatty(STDOUT_FILENO) != 0;
    commands.silent = view && ::isatty(STDERR_FILENO) != 0;
    if (options.user) {
        auto identity = command_identity(options.user);
        if (!identity) return identity.error();
        commands.identity = *std::move(identity);
    }
    Actions actions(std::move(commands), std::move(is_alive));
    if (!actions.wanted(ActionEvent::precursor) && !actions.wanted(ActionEvent::death)) return actions;
    if (options.user && ::geteuid() != 0)
        return plain_error("--user: only root can run commands as another user", "use sudo, or leave it out");
    for (const ActionEvent event : kActionEvents) {
        const auto& words = actions.commands_.of(event);
        if (words.empty() || can_be_found(words.front())) continue;
        actions.fail(event, ActionOutcome::failed, std::strerror(ENOENT), 0);
        actions.troubles_.back() = fmt::format("{}: program {} was not found; memscope continues to watch",
                                               option_of(event), shortened(words.front()));
    }
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return system_error(errno, "socketpair");
    actions.socket_ = Fd(ends[0]);
    Fd of_helper(ends[1]);
    const int room = 2 * static_cast<int>(kMostRequestBytes);
    (void)::setsockopt(actions.socket_.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    const pid_t watcher = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return system_error(errno, "fork");
    if (pid == 0) be_action_helper(std::move(of_helper), actions.commands_, watcher);
    actions.helper_ = pid;
    return actions;
}

Seconds Actions::patience() const { return commands_.timeout + ActionProcess::kGrace + Seconds{1}; }

void Actions::fail(ActionEvent event, ActionOutcome outcome, const std::string& reason, std::uint64_t count) {
    tally_.add(event, outcome, count);
    std::string& said = said_[static_cast<std::size_t>(event)];
    if (std::exchange(said, reason) != reason) troubles_.push_back(fmt::format("{}: {}", option_of(event), reason));
}

void Actions::offer(PendingAction action, Seconds now) {
    const ActionEvent event = action.request.event;
    if (!socket_) return fail(event, ActionOutcome::dropped, std::string(kHelperEnded));
    if (!queue_.offer(std::move(action), now))
        fail(event, ActionOutcome::dropped, "not run, because there are too many events");
}

void Actions::take_precursors(const Snapshot& snapshot, Seconds now) {
    std::set<std::string> shown(snapshot.unread.begin(), snapshot.unread.end());
    // A target that has ended stays in the snapshot for some time, and a new target may have its name already.
    for (const TargetSnapshot& target : snapshot.targets) {
        shown.insert(target.info.name);
        if (!target.up) precursors_.erase(target.info.name);
    }
    for (const TargetSnapshot& target : snapshot.targets) {
        if (!target.up) continue;
        std::set<PrecursorKind> kinds;
        for (const Precursor& precursor : target.precursors) kinds.insert(precursor.kind);
        const std::set<PrecursorKind> before = std::exchange(precursors_[target.info.name], std::move(kinds));
        if (!wanted(ActionEvent::precursor)) continue;
        for (const Precursor& precursor : target.precursors)
            if (!before.contains(precursor.kind))
                offer(precursor_action(snapshot, target, precursor, recording_of(target.info.name)), now);
    }
    std::erase_if(precursors_, [&](const auto& each) { return !shown.contains(each.first); });
    queue_.forget_others_than(shown);
    pump();
}

void Actions::take_deaths(const std::vector<ReportedDeath>& deaths, std::uint64_t unreported, Seconds now) {
    const std::uint64_t missed = unreported - std::exchange(unreported_, unreported);
    if (!wanted(ActionEvent::death)) return;
    if (missed > 0)
        fail(ActionEvent::death, ActionOutcome::dropped, "not run, because there are too many deaths", missed);
    for (const ReportedDeath& death : deaths) offer(death_action(death, recording_of(death.target.name)), now);
    pump();
}

void Actions::hand_on(PendingAction& action) {
    const auto drop = [&](const std::string& reason) {
        (void)queue_.end(action.request.id);
        fail(action.request.event, ActionOutcome::dropped, reason);
    };
    // The action may have waited, and another process may have the pid by now.
    if (action.concerns && !is_alive_(*action.concerns)) return drop("not run, because the process has ended");
    std::erase_if(action.trainers, [this](ProcessId id) { return !is_alive_(id); });
    if (!action.trainers.empty()) action.request.environment.push_back(trainers_fact(action.trainers));
    const auto bytes = encode_request(action.request);
    if (!bytes) return drop(bytes.error().message());
    if (::send(socket_.get(), bytes->data(), bytes->size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        drop(errno == EPIPE ? std::string(kHelperEnded) : system_error(errno, "not run").message());
}

void Actions::settle(const ActionReply& reply) {
    using How = ActionReply::How;
    const auto action = queue_.end(reply.id);
    if (!action) return;
    const ActionEvent event = action->request.event;
    switch (reply.how) {
        case How::exited:
            if (reply.number == 0) {
                tally_.add(event, ActionOutcome::ok);
                said_[static_cast<std::size_t>(event)].clear();
                lines_.push_back(
                    fmt::format("{}: {} was run: {}", printable(action->target), option_of(event), action->what));
                return;
            }
            return fail(event, ActionOutcome::failed, fmt::format("ended with status {}", reply.number));
        case How::killed:
            return fail(event, ActionOutcome::failed, fmt::format("was killed by signal {}", reply.number));
        case How::timed_out:
            return fail(event, ActionOutcome::timeout,
                        fmt::format("took longer than {} and was ended", human_duration(commands_.timeout)));
        case How::not_started:
            return fail(event, ActionOutcome::failed, std::strerror(reply.number));
        case How::refused:
            return fail(event, ActionOutcome::dropped, "not run, the helper process refused it");
    }
}

void Actions::helper_ended() {
    socket_ = Fd();
    ::waitpid(helper_, nullptr, WNOHANG);
    for (const PendingAction& action : queue_.give_up())
        fail(action.request.event, ActionOutcome::dropped, std::string(kHelperEnded));
}

void Actions::pump() {
    while (socket_) {
        ActionReply reply;
        const ssize_t n = ::recv(socket_.get(), &reply, sizeof reply, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return helper_ended();
        if (n != sizeof reply) break;
        settle(reply);
    }
    while (socket_) {
        auto action = queue_.next();
        if (!action) return;
        hand_on(*action);
    }
}

std::vector<std::string> Actions::take_lines() { return std::exchange(lines_, {}); }
std::vector<std::string> Actions::take_troubles() { return std::exchange(troubles_, {}); }

}  // namespace memscope
