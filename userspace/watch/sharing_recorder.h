#pragma once
#include "analysis/own_memory.h"
#include "analysis/sharing.h"
#include "model/process_table.h"
#include "watch/sharing_reader.h"

namespace memscope {

// Follows who shares memory with whom, in every target. In a crowd not at every tick: copies are made over minutes, and
// looking costs as much as all else of a tick.
class SharingRecorder {
  public:
    explicit SharingRecorder(SharingReader::Read read);

    // At every tick, before targets are described. `scan_began_ns`: of the scan that `living` is of, boot clock.
    void tick(const ProcessTable::Living& living, std::uint64_t scan_began_ns, std::uint64_t now_ns);
    // Once a tick for each target, whose processes and memory are known: fills in `sharing`, how much of its memory
    // each process has inherited, and what others hold where the memory was measured further up.
    void describe(CgroupId id, TargetSnapshot& target);
    void forget(CgroupId id) {
        books_.erase(id);
        latest_.erase(id);
        own_.erase(id);
    }

  private:
    Sharing look_at(CgroupId id, const TargetSnapshot& target);

    Bytes page_;
    SharingReader reader_;
    std::map<CgroupId, SharingBook> books_{};
    std::map<CgroupId, Sharing> latest_{};
    std::map<CgroupId, OwnMemory> own_{};
    std::size_t ticks_to_pass_ = 0;    // before the next look
    bool looks_ = false;               // in this tick
    std::uint64_t scan_began_ns_ = 0;  // of the last look
    std::uint64_t now_ns_ = 0;
    std::uint64_t latest_scan_ns_ = 0;  // of this tick, looked at or not
};

}  // namespace memscope
