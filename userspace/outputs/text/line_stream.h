#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"

namespace memscope {

// Standard output, or standard error. Nothing here waits for a reader, except finish(): if the reader is slow, whole
// ticks are skipped and counted. A tick that was partly written is finished before the next one, so lines are always
// complete.
//
// O_NONBLOCK is never set on the descriptor that memscope was given, because the flag belongs to the open file, which
// the user's shell shares. Pipes and terminals are opened again instead, sockets take the flag per call, and writes to
// files do not block. The program must ignore SIGPIPE, because write() has no flag that prevents this signal for a
// pipe.
class LineStream {
  public:
    static Result<LineStream> open(int fd);

    enum class Outcome { written, skipped, closed };
    Outcome write_tick(const std::vector<std::string>& lines);  // lines without newline
    // As write_tick(), but lines for which there is no room wait until there is. They are skipped, and counted as a
    // tick, only if more than kMostWaiting bytes wait already.
    Outcome write_lines(const std::vector<std::string>& lines);
    // Writes as much of what waits as there is room for. Call this when fd() has become writable, so that a reader that
    // keeps up gets ticks that are larger than its pipe.
    Outcome write_rest();
    bool has_rest() const { return !pending_.empty(); }
    int fd() const { return fd_.get(); }                // -1: it was closed from the start
    std::uint64_t skipped() const { return skipped_; }  // ticks
    // Why standard output cannot be written, returned once. A slow reader is not an error.
    std::optional<Error> take_trouble();
    void finish(Seconds at_most);  // writes the rest of a tick that was partly written

    static constexpr std::size_t kMostWaiting = std::size_t{1} << 18;

  private:
    enum class Kind { nonblocking, socket, file, polled };
    enum class Push { done, blocked, closed };

    LineStream(Fd fd, Kind kind, bool closed) : fd_(std::move(fd)), kind_(kind), closed_(closed) {}
    long write_once(std::string_view bytes) const;
    Push push();
    Outcome skip();
    void append(const std::vector<std::string>& lines);

    Fd fd_;
    Kind kind_;
    bool closed_ = false;
    std::string pending_{};
    std::size_t done_ = 0;  // bytes of pending_ that are written
    std::uint64_t skipped_ = 0;
    int failed_with_ = 0;  // errno of the first write that failed for another reason than a slow reader
    bool trouble_reported_ = false;
};

}  // namespace memscope
