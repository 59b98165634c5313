/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * PyTorch's own probes: where each of them has its arguments, and the books that the BPF program keeps of tensors.
 * Included by both sides, as wire.h is.
 */
#ifndef MEMSCOPE_SHARED_TORCH_H
#define MEMSCOPE_SHARED_TORCH_H

#include <memscope/shared/wire.h>

/* Tensors that live at one time, of all processes. What finds no room is counted and not booked. */
#define MS_TENSORS (1u << 20)
#define MS_TORCH_PROCESSES 16384
/* Ways to pass arguments that are known at one time: each build of PyTorch has three. */
#define MS_TORCH_SITES 256
#define MS_TORCH_DEVICES 32                 /* of one process */
#define MS_TORCH_NO_DEVICE MS_TORCH_DEVICES /* what the probe says cannot be one */
#define MS_TORCH_SLOTS (MS_TORCH_DEVICES + 1)

enum ms_operand_kind { MS_OPERAND_CONSTANT, MS_OPERAND_REGISTER, MS_OPERAND_MEMORY };

/* An argument of a probe. */
struct ms_operand {
    __s64 number;      /* the constant, or what is added to the register for an address */
    __u16 register_at; /* in the kernel's struct pt_regs */
    __u8 kind;         /* enum ms_operand_kind */
    __u8 bytes;        /* 1, 2, 4 or 8, with those that are skipped */
    __u8 skipped_bits; /* the lowest ones, if they are no part of it */
    __u8 is_signed;
    __u8 pad[2];
};
MS_LAYOUT(ms_operand, 16);

enum ms_torch_event { MS_TORCH_MALLOC, MS_TORCH_FREE };

/* In the map `torch_sites`, by the cookie of the probe. */
struct ms_torch_site {
    __u32 event; /* enum ms_torch_event */
    __u32 pad;
    struct ms_operand pointer;
    struct ms_operand size;   /* of MS_TORCH_MALLOC only, as the next one */
    struct ms_operand device; /* as the process counts them */
};
MS_LAYOUT(ms_torch_site, 56);

/* A process that has allocated tensors, by pid in the map `torch_processes`. One that executes another program is
 * another one. */
struct ms_torch_process {
    __u64 id;
    __u64 start_ns;
    __u64 missed; /* tensors of which it is certain that they are not in the books, or stand there too long */
    __s64 tensors;
    __s64 bytes[MS_TORCH_SLOTS]; /* by device, as the process counts them, or MS_TORCH_NO_DEVICE */
    __u8 used[MS_TORCH_SLOTS];   /* whether there ever was a tensor */
    __u8 pad[7];
};
MS_LAYOUT(ms_torch_process, 336);

struct ms_tensor_key {
    __u64 process; /* ms_torch_process.id */
    __u64 address;
    __u32 pid;
    __u32 pad;
};
MS_LAYOUT(ms_tensor_key, 24);

struct ms_tensor {
    __u64 bytes;
    __u32 device; /* a slot of ms_torch_process */
    __u32 pad;
};
MS_LAYOUT(ms_tensor, 16);

#endif
