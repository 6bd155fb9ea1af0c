//! Which of the system's calls may a program not make? Those that reach for other processes, for the kernel's own
//! workings, or out of the sandbox. They fail as if the system did not allow them; everything else goes on.

use super::super::plan::Plan;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};
use std::collections::BTreeMap;

/// Calls that no program of ours needs.
const REFUSED: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    // The view that was built.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Parts of the kernel with many faults in the past.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_lookup_dcookie,
    libc::SYS_vhangup,
    // The machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// What makes new namespaces when a process is copied.
const NAMESPACES: [i32; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWTIME,
];

/// Families of sockets that a program with a network gets; the kernel has dozens of others, seldom looked at.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Typing into the terminal of somebody else.
const TYPING: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// What a program may do beyond what every program may.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    /// Sockets of the network.
    network: bool,
    /// Namespaces of its own, into which it puts its parts.
    nesting: bool,
}

impl Allowed {
    pub(super) fn by(plan: &Plan) -> Allowed {
        Allowed {
            network: plan.network || plan.channel.is_some(),
            nesting: plan.channel.is_some_and(|channel| channel.nests),
        }
    }
}

/// What a program needs to put its parts into sandboxes of their own.
const NESTING: &[i64] = &[libc::SYS_unshare, libc::SYS_chroot];

/// The filter as the kernel takes it.
pub(super) fn build(allowed: Allowed) -> Result<BpfProgram, String> {
    let Allowed { network, nesting } = allowed;
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let refused = REFUSED.iter().filter(|call| !(nesting && NESTING.contains(call)));
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = refused.map(|call| (*call, Vec::new())).collect();
    let masked = |flag: i32| condition(0, SeccompCmpOp::MaskedEq(flag as u64), flag as u64);
    if !nesting {
        let flags = NAMESPACES.iter().map(|flag| rule(vec![masked(*flag)?]));
        rules.insert(libc::SYS_clone, flags.collect::<Result<_, _>>()?);
    }
    let typed = |request: u64| rule(vec![condition(1, SeccompCmpOp::Eq, request)?]);
    rules.insert(libc::SYS_ioctl, TYPING.into_iter().map(typed).collect::<Result<_, _>>()?);
    let other = |families: &[i32]| {
        families.iter().map(|family| condition(0, SeccompCmpOp::Ne, *family as u64)).collect::<Result<Vec<_>, _>>()
    };
    let socket = if network { vec![rule(other(&FAMILIES)?)?] } else { Vec::new() };
    rules.insert(libc::SYS_socket, socket);
    rules.insert(libc::SYS_socketpair, vec![rule(other(&[libc::AF_UNIX])?)?]);
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).map_err(|error| error.to_string())?;
    let compiled: BpfProgram = filter.try_into().map_err(|error: seccompiler::BackendError| error.to_string())?;
    Ok(absent_calls().into_iter().chain(compiled).collect())
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, String> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).map_err(|error| error.to_string())
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, String> {
    SeccompRule::new(conditions).map_err(|error| error.to_string())
}

/// Calls that this system does not have, as far as programs can tell: the newer way of copying a process, whose flags
/// a filter cannot see, and the second set of numbers of 64-bit Intel machines, which would go past every rule.
fn absent_calls() -> [sock_filter; 5] {
    /// The bit of the second set.
    const SECOND_SET: u32 = 0x4000_0000;
    let instruction = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
    let absent = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    [
        // The number of the call is the first word of what the kernel shows.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, 0, libc::SYS_clone3 as u32),
        instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, SECOND_SET),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, absent),
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
    ]
}
