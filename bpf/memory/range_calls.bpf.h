/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Turns the registers of a system call into a change of an address range. Each function returns whether there
 * is an event to send. */
#ifndef MEMSCOPE_RANGE_CALLS_BPF_H
#define MEMSCOPE_RANGE_CALLS_BPF_H

#include "memory/ranges.bpf.h"
#include "shared/syscalls.bpf.h"

const volatile __u64 page_bytes = 4096;

/* Flags and magic numbers are part of the kernel's ABI. */
#define MAP_TYPE         0x0f
#define MAP_SHARED       0x01
#define MAP_SHARED_CHECK 0x03 /* MAP_SHARED_VALIDATE */
#define MAP_FIXED        0x10
#define MAP_ANONYMOUS    0x20
#define MREMAP_DONTUNMAP 4
#define SHM_RDONLY       010000
#define SHM_EXEC         0100000
#define TMPFS_MAGIC      0x01021994
#define HUGETLBFS_MAGIC  0x958458f6
#define S_IFMT           0170000
#define S_IFREG          0100000
#define DEV_ZERO         ((1 << 20) | 5)
#define MOST_ERRNO       4095
#define ENOMEM           12

/* Advice of madvise() that discards pages. */
#define MADV_DONTNEED        4
#define MADV_FREE            8
#define MADV_DONTNEED_LOCKED 24

static __always_inline bool has_failed(long ret)
{
	return (unsigned long)ret >= (unsigned long)-MOST_ERRNO;
}

static __always_inline __u64 whole_pages(__u64 bytes)
{
	return (bytes + page_bytes - 1) & ~(page_bytes - 1);
}

/* Programs may keep a tag in the top byte of an address (arm64 TBI), and most calls accept it. */
static __always_inline __u64 untagged(__u64 address)
{
	return address & ((1ULL << 56) - 1);
}

/* False: the kernel rejects such a range before it changes anything. */
static __always_inline bool is_range(__u64 begin, __u64 end)
{
	return (begin & (page_bytes - 1)) == 0 && end > begin;
}

static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	struct file *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), &files[fd]);
	return file;
}

static __always_inline struct inode *inode_of(struct task_struct *task, __u32 fd)
{
	struct file *file = file_of(task, fd);

	return BPF_CORE_READ(file, f_inode);
}

/* A shared mapping of a file in tmpfs or hugetlbfs is memory. The device files in /dev are in a tmpfs, too,
 * so only regular files count. The exception is /dev/zero, whose mappings are anonymous memory. */
static __always_inline enum ms_range_kind kind_of_file(struct task_struct *task, __u32 fd, bool shared)
{
	struct inode *inode = inode_of(task, fd);
	__u64 magic;

	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG) {
		if (BPF_CORE_READ(inode, i_rdev) == DEV_ZERO)
			return shared ? MS_RANGE_SHARED : MS_RANGE_ANONYMOUS;
		return MS_RANGE_OTHER;
	}
	magic = BPF_CORE_READ(inode, i_sb, s_magic);
	if (shared && (magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC))
		return MS_RANGE_SHARED;
	return MS_RANGE_FILE;
}

static __always_inline bool is_memory(__u8 kind)
{
	return kind == MS_RANGE_ANONYMOUS || kind == MS_RANGE_SHARED || kind == MS_RANGE_ATTACHED;
}

static __always_inline bool after_mmap(struct ms_range *r, struct pt_regs *regs, long ret,
                                       struct task_struct *task)
{
	__u64 bytes = whole_pages(argument_2_of(regs));
	__u32 flags = argument_4_of(regs);
	__u32 type = flags & MAP_TYPE;
	bool shared = type == MAP_SHARED || type == MAP_SHARED_CHECK;

	if (has_failed(ret))
		return false;
	r->protection = argument_3_of(regs) & 7;
	if (!(flags & MAP_ANONYMOUS))
		r->kind = kind_of_file(task, argument_5_of(regs), shared);
	else
		r->kind = shared ? MS_RANGE_SHARED : MS_RANGE_ANONYMOUS;
	if (bytes < MS_RANGE_LEAST_BYTES && !(flags & MAP_FIXED) && r->kind == MS_RANGE_ANONYMOUS &&
	    (r->protection & MS_RANGE_WRITABLE))
		return false;
	r->call = MS_RANGE_MAP;
	r->begin = ret;
	r->end = ret + bytes;
	return true;
}

static __always_inline bool at_munmap(struct ms_range *r, struct pt_regs *regs, enum ms_range_call call)
{
	r->call = call;
	r->begin = untagged(first_argument_of(regs));
	r->end = r->begin + whole_pages(argument_2_of(regs));
	return is_range(r->begin, r->end);
}

static __always_inline bool before_madvise(struct ms_range *r, struct pt_regs *regs)
{
	__u32 advice = argument_3_of(regs);

	if (advice != MADV_DONTNEED && advice != MADV_FREE && advice != MADV_DONTNEED_LOCKED)
		return false;
	return at_munmap(r, regs, MS_RANGE_GIVE_BACK);
}

/* An mremap() that leaves the old range mapped. */
static __always_inline bool copies(struct pt_regs *regs)
{
	return argument_2_of(regs) == 0 || (argument_4_of(regs) & MREMAP_DONTUNMAP);
}

static __always_inline bool read_old_range(struct ms_range *r, struct pt_regs *regs)
{
	r->old_begin = untagged(first_argument_of(regs));
	r->old_end = r->old_begin + whole_pages(argument_2_of(regs));
	return is_range(r->old_begin, r->old_end) || (r->old_begin == r->old_end && copies(regs));
}

static __always_inline bool before_mremap(struct ms_range *r, struct pt_regs *regs)
{
	r->call = MS_RANGE_MOVE_BEGINS;
	return read_old_range(r, regs) && !copies(regs);
}

static __always_inline bool after_mremap(struct ms_range *r, struct pt_regs *regs, long ret)
{
	if (!read_old_range(r, regs))
		return false;
	if (has_failed(ret)) {
		r->call = MS_RANGE_MOVE_FAILED;
		return !copies(regs);
	}
	r->call = copies(regs) ? MS_RANGE_COPIED : MS_RANGE_MOVED;
	r->begin = ret;
	r->end = ret + whole_pages(argument_3_of(regs));
	return true;
}

/* Records the break before the first brk() call that is seen. */
static __always_inline void before_brk(struct ms_range_state *state, struct task_struct *task)
{
	if (!state->last_break)
		state->last_break = whole_pages(BPF_CORE_READ(task, mm, brk));
}

static __always_inline bool after_brk(struct ms_range *r, struct ms_range_state *state, long ret)
{
	__u64 before = state->last_break;
	__u64 now = whole_pages(ret);
	bool up = now > before;

	if (!before || (up ? now - before : before - now) < MS_RANGE_LEAST_BYTES)
		return false;
	state->last_break = now;
	r->call = up ? MS_RANGE_MAP : MS_RANGE_UNMAP;
	r->begin = up ? before : now;
	r->end = up ? now : before;
	r->kind = MS_RANGE_ANONYMOUS;
	r->protection = MS_RANGE_READABLE | MS_RANGE_WRITABLE;
	return true;
}

/* mprotect() changes the range from its start to the first hole, and keeps those changes when it fails with
 * ENOMEM. */
static __always_inline bool after_mprotect(struct ms_range *r, struct pt_regs *regs, long ret)
{
	if (ret && ret != -ENOMEM)
		return false;
	r->call = ret ? MS_RANGE_PROTECT_FAILED : MS_RANGE_PROTECT;
	r->begin = untagged(first_argument_of(regs));
	r->end = r->begin + whole_pages(argument_2_of(regs));
	r->protection = argument_3_of(regs) & 7;
	return is_range(r->begin, r->end);
}

static __always_inline bool after_shmat(struct ms_range *r, struct pt_regs *regs, long ret)
{
	__u64 flags = argument_3_of(regs);

	if (has_failed(ret))
		return false;
	r->call = MS_RANGE_ATTACH;
	r->kind = MS_RANGE_ATTACHED;
	r->begin = ret;
	r->end = ret;
	r->protection = MS_RANGE_READABLE | (flags & SHM_RDONLY ? 0 : MS_RANGE_WRITABLE) |
	                (flags & SHM_EXEC ? MS_RANGE_EXECUTABLE : 0);
	return true;
}

static __always_inline bool at_shmdt(struct ms_range *r, struct pt_regs *regs, enum ms_range_call call)
{
	r->call = call;
	r->begin = untagged(first_argument_of(regs));
	r->end = r->begin;
	return true;
}

/* A stack walk is expensive, so it is made only for calls that may add memory. The collector knows the kind
 * of memory of a protected or extended range. */
static __always_inline bool may_add_memory(const struct ms_range *r)
{
	switch (r->call) {
	case MS_RANGE_MAP:
	case MS_RANGE_ATTACH:
		return is_memory(r->kind) && (r->protection & MS_RANGE_WRITABLE);
	case MS_RANGE_PROTECT:
		return r->protection & MS_RANGE_WRITABLE;
	case MS_RANGE_MOVED:
		return r->end - r->begin > r->old_end - r->old_begin;
	case MS_RANGE_COPIED:
		return true;
	default:
		return false;
	}
}

#endif
