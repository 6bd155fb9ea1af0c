//! Which compiler makes components here? Rustup's where it has the target, else the Rust that Debian keeps for its web
//! browsers; what is missing is named with the command that installs it.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What components are compiled for.
pub(crate) const TARGET: &str = "wasm32-wasip2";

/// A cargo that can make components, and what it has to be told.
pub(crate) struct Toolchain {
    cargo: PathBuf,
    environment: Vec<(&'static str, String)>,
}

impl Toolchain {
    /// Looks for one.
    pub(crate) fn find() -> Result<Toolchain, Failure> {
        if has_target("rustc") {
            let flags = vec![("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS", "-Ctarget-feature=+simd128".to_owned())];
            return Ok(Toolchain { cargo: "cargo".into(), environment: flags });
        }
        debian().ok_or_else(|| {
            let rustup = Command::new("rustup").arg("--version").output().is_ok();
            let rustup = if rustup {
                "rustup target add wasm32-wasip2"
            } else {
                "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -t wasm32-wasip2"
            };
            let packages = "rustc-web cargo-web libstd-rust-web-dev rust-web-src rust-web-llvm lld wasi-libc";
            Failure::unavailable(format!(
                "there is no Rust that makes components for {TARGET}; run\n  {rustup}\nor, on Debian,\n  sudo apt-get install {packages}"
            ))
        })
    }

    /// Cargo, set up to make components.
    pub(crate) fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.cargo);
        command.current_dir(folder);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // Flags meant for this machine do not compile for WebAssembly.
        for other in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR"] {
            command.env_remove(other);
        }
        command
    }

    /// Whether the library of the target has to be compiled first.
    pub(crate) fn is_debian(&self) -> bool {
        self.cargo != Path::new("cargo")
    }
}

fn has_target(rustc: &str) -> bool {
    let found = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output();
    found.is_ok_and(|found| Path::new(String::from_utf8_lossy(&found.stdout).trim()).is_dir())
}

/// Debian's, which has no library for the target and compiles it once.
fn debian() -> Option<Toolchain> {
    let version = Command::new("/usr/bin/rustc").arg("-vV").output().ok()?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let llvm: u32 =
        version.lines().find_map(|line| line.strip_prefix("LLVM version: ")?.split('.').next()?.parse().ok())?;
    // The linker reads what the compiler writes, so it is of the same version or a later one.
    let linker = (llvm..llvm + 5)
        .map(|llvm| format!("/usr/lib/llvm-{llvm}/bin"))
        .find(|bin| Path::new(bin).join("wasm-ld").is_file())?;
    let there = ["/usr/bin/cargo", "/usr/lib/wasm32-wasi", "/usr/bin/wasm-component-ld"];
    if !there.iter().take(2).all(|path| Path::new(path).exists()) {
        return None;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    Some(Toolchain {
        cargo: "/usr/bin/cargo".into(),
        environment: vec![
            ("RUSTC", "/usr/bin/rustc".into()),
            ("RUSTC_BOOTSTRAP", "1".into()),
            ("PATH", format!("{linker}:{path}")),
            ("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS", "-Ctarget-feature=+simd128 -L/usr/lib/wasm32-wasi".into()),
        ],
    })
}
