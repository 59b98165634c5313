// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* What any program on a hook costs at least. storm_bench loads it once for each hook that memscope is on. */
#define SECTION(name) __attribute__((section(name), used))

char LICENSE[] SECTION("license") = "Dual BSD/GPL";

SECTION("tp_btf/sys_exit") int empty(void* ctx) { return 0; }
