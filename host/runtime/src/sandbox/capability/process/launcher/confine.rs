//! What may a program do with what it sees? Limits of the kernel, no capabilities, no new ones, Landlock over the
//! view that was built, and a filter over the system's calls. Each is a layer of its own: one that fails for a reason
//! nobody thought of leaves the others.

use super::super::plan::{Failed, Layer, Plan};
use super::{Identity, filter, root, system};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, setrlimit};

/// The version of Landlock whose rights are asked for; older kernels enforce what they know.
const LANDLOCK: ABI = ABI::V6;
/// The first version that lets nobody cut a file that they may not write.
const LANDLOCK_LEAST: &str = "5.19";
/// Descriptors of one process, and of one with many parts that speak with each other.
const DESCRIPTORS: u64 = 1024;
const DESCRIPTORS_OF_PARTS: u64 = 8192;

/// Confines this process and all that it will start.
pub(super) fn confine(plan: &Plan, identity: Identity, layers: &mut Vec<Layer>) -> Result<(), Failed> {
    limits(plan)?;
    layers.push(layer(
        "limits",
        &format!(
            "{} processes, {} MiB a file, {} MiB of memory a process",
            plan.limits.processes,
            plan.limits.file >> 20,
            plan.limits.memory >> 20
        ),
    ));
    if identity.privileged {
        system::become_user(identity.uid, identity.gid).map_err(|error| Failed::layer("user of its own", error))?;
    }
    system::set(libc::PR_SET_DUMPABLE, 0).map_err(|error| Failed::layer("closed memory", error))?;
    if !identity.privileged {
        system::drop_capabilities().map_err(|error| Failed::layer("loss of capabilities", error))?;
    }
    system::set(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(|error| Failed::layer("bar to new privileges", error))?;
    layers.push(layer("privileges", "no capabilities, no new privileges"));
    let landlock = restrict(plan).map_err(|error| Failed::layer("Landlock rules", error))?;
    layers.push(layer("landlock", landlock));
    let program =
        filter::build(filter::Allowed::by(plan)).map_err(|error| Failed::layer("filter of system calls", error))?;
    system::set_filter(&program).map_err(|error| Failed::layer("filter of system calls", error))?;
    layers.push(layer("system calls", "filtered"));
    Ok(())
}

fn layer(name: &str, state: &str) -> Layer {
    Layer { name: name.to_owned(), state: state.to_owned() }
}

fn limits(plan: &Plan) -> Result<(), Failed> {
    let limits = &plan.limits;
    let descriptors = if plan.channel.is_some() { DESCRIPTORS_OF_PARTS } else { DESCRIPTORS };
    let all = [
        (Resource::Nproc, limits.processes),
        (Resource::Fsize, limits.file),
        (Resource::Data, limits.memory),
        (Resource::Nofile, descriptors),
        (Resource::Core, 0),
        (Resource::Memlock, 0),
        (Resource::Msgqueue, 0),
    ];
    for (resource, most) in all {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, limit).map_err(|error| Failed::layer("limits", error))?;
    }
    // The kernel ends these first when memory is short, before anything of the machine.
    super::write(std::path::Path::new("/proc/self/oom_score_adj"), "1000")
        .map_err(|error| Failed::layer("limits", error))
}

/// Lets Landlock allow what the view allows and nothing besides.
fn restrict(plan: &Plan) -> Result<&'static str, String> {
    let text = |error: landlock::RulesetError| error.to_string();
    let all = AccessFs::from_all(LANDLOCK);
    let read = AccessFs::from_read(LANDLOCK);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(all).map_err(text)?;
    // A network of its own has nothing but what the runtime put there.
    if !plan.network && plan.channel.is_none() {
        ruleset = ruleset.handle_access(AccessNet::from_all(LANDLOCK)).map_err(text)?;
    }
    let mut created = ruleset.scope(Scope::from_all(LANDLOCK)).map_err(text)?.create().map_err(text)?;
    let mut allow = |place: &str, access: BitFlags<AccessFs>| -> Result<(), String> {
        let file = PathFd::new(place).map_err(|error| error.to_string())?;
        let rule = PathBeneath::new(file, access);
        (&mut created).add_rule(rule).map_err(text).map(drop)
    };
    // What the view shows may be read; the view itself is what says no to everything else. Names above it may be listed.
    allow("/", AccessFs::ReadDir.into())?;
    for place in ["/usr", "/etc"] {
        allow(place, read)?;
    }
    // Who makes namespaces for its parts writes there which users they have.
    let nests = plan.channel.is_some_and(|channel| channel.nests);
    allow("/proc", if nests { read | AccessFs::WriteFile } else { read })?;
    for place in ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"] {
        if rustix::fs::stat(place).is_ok() {
            allow(place, read)?;
        }
    }
    for place in &plan.system {
        if rustix::fs::stat(place).is_ok() {
            allow(&place.to_string_lossy(), read)?;
        }
    }
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir | AccessFs::Truncate;
    allow("/dev", device)?;
    for place in ["/tmp", root::HOME, "/dev/shm"] {
        allow(place, all)?;
    }
    for grant in &plan.grants {
        allow(&grant.name, if grant.writable { all } else { read })?;
    }
    match created.restrict_self().map_err(text)?.ruleset {
        RulesetStatus::FullyEnforced => Ok("fully enforced"),
        RulesetStatus::PartiallyEnforced => Ok("enforced as far as this kernel knows it"),
        RulesetStatus::NotEnforced => {
            Err(format!("the kernel has none; it needs Linux {LANDLOCK_LEAST} or later with Landlock on"))
        }
    }
}
