/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The fields of kernel structs that memscope reads, and no others. The loader finds their real offsets in the
 * BTF of the running kernel, so order and padding here do not matter and the build needs no vmlinux.h.
 */
#ifndef MEMSCOPE_KERNEL_TYPES_BPF_H
#define MEMSCOPE_KERNEL_TYPES_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

struct list_head {
	struct list_head *next;
};

struct ns_common {
	unsigned int inum;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

struct kernfs_node {
	__u64 id;
	const char *name;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

enum cgroup_subsys_id {
	memory_cgrp_id = 1, /* the real number comes from the kernel's BTF */
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};

/* From 6.2 on. Kernels before have struct mm_rss_stat and struct task_rss_stat, see below. */
struct percpu_counter {
	__s64 count;
	__s32 *counters;
};

struct mm_struct {
	unsigned long total_vm;
	unsigned long brk;
	atomic_long_t pgtables_bytes;
	struct task_struct *owner;
	unsigned long arg_start;
	unsigned long arg_end;
	struct percpu_counter rss_stat[4];
};

struct mm_rss_stat {
	atomic_long_t count[4];
};

struct mm_struct___before_6_2 {
	struct mm_rss_stat rss_stat;
};

struct task_rss_stat {
	int count[4];
};

struct task_struct___before_6_2 {
	struct task_rss_stat rss_stat;
};

struct signal_struct {
	atomic_t live;
	int nr_threads;
	struct list_head thread_head;
	unsigned long min_flt;
	unsigned long maj_flt;
	int group_exit_code;
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct super_block {
	unsigned int s_dev;
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	unsigned int i_rdev;
	struct super_block *i_sb;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

typedef struct {
	unsigned long pte;
} pte_t;

struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long pgoff;
	unsigned long address;
	unsigned long real_address;
	pte_t orig_pte;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct {
	unsigned int flags;
	int exit_code;
	__u32 pid;
	__u32 tgid;
	__u64 start_boottime;
	unsigned long min_flt;
	unsigned long maj_flt;
	char comm[16];
	struct mm_struct *mm;
	struct files_struct *files;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct list_head thread_node;
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct nsproxy *nsproxy;
	struct pid *thread_pid;
};

struct linux_binprm {
	struct mm_struct *mm;
};

struct seq_file;
struct kernel_siginfo;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_array {
	void *pptrs[1];
};

#pragma clang attribute pop

#define PF_FORKNOEXEC 0x00000040 /* forked, has not exec'ed since */

/* Indexes of rss_stat, the same since 4.5. */
enum rss_kind { RSS_FILE = 0, RSS_ANON = 1, RSS_SWAP = 2, RSS_SHMEM = 3 };

/* A pointer as a number: the verifier allows no arithmetic on a pointer to a map or to a context. */
static __always_inline __u64 address_of(const void *pointer)
{
	__u64 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), &pointer);
	return number;
}

#endif
