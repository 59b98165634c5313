#pragma once

namespace memscope {

// Whether BPF programs find the addresses of page faults on the stack of this kernel. Tries it with page faults of the
// calling thread. False if memscope may not load BPF programs.
bool finds_fault_addresses();

}  // namespace memscope
