//! Which compiler makes components here? Rustup's where it has the target, else the Rust that Debian keeps for its web
//! browsers; what is missing is named with the command that installs it.

use super::library;
use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What components are compiled for.
pub(crate) const TARGET: &str = "wasm32-wasip2";

/// A cargo that can make components, and what it has to be told.
pub(crate) struct Toolchain {
    cargo: PathBuf,
    environment: Vec<(&'static str, String)>,
    /// The source of a library that has to be compiled first, and what tells one compiler from another.
    library: Option<(PathBuf, String)>,
}

impl Toolchain {
    /// Looks for one.
    pub(crate) fn find() -> Result<Toolchain, Failure> {
        if has_target("rustc") {
            let flags = vec![("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS", "-Ctarget-feature=+simd128".to_owned())];
            return Ok(Toolchain { cargo: "cargo".into(), environment: flags, library: None });
        }
        debian(Path::new("/")).map_err(|missing| {
            let rustup = Command::new("rustup").arg("--version").output().is_ok();
            let rustup = if rustup {
                "rustup target add wasm32-wasip2"
            } else {
                "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -t wasm32-wasip2"
            };
            let debian = match Path::new("/etc/debian_version").is_file() {
                true => format!("\nor, on Debian,\n  sudo apt-get install {}", missing.join(" ")),
                false => String::new(),
            };
            Failure::unavailable(format!(
                "there is no Rust that makes components for {TARGET}; run\n  {rustup}{debian}"
            ))
        })
    }

    /// A build of what is in a folder, with everything it needs in place. `cache` outlives it.
    pub(crate) fn build(&self, folder: &Path, cache: &Path) -> Result<Command, Failure> {
        let mut command = Command::new(&self.cargo);
        command.current_dir(folder);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // Flags meant for this machine do not compile for WebAssembly.
        for other in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR"] {
            command.env_remove(other);
        }
        command.args(["build", "--release", "--target", TARGET]);
        // One folder for all plugins, so that a library is compiled once.
        command.arg("--target-dir").arg(cache.join("guest-target"));
        let vendored = library::vendored(folder)?;
        if vendored.is_some() {
            command.arg("--offline");
        }
        if let Some((source, compiler)) = &self.library {
            command.args(["-Z", "build-std=std,panic_abort"]);
            if let Some(vendored) = vendored {
                let whole = library::with_library(&vendored, source, compiler, cache)?;
                command.arg("--config").arg(format!("source.{}.directory={whole:?}", vendored.source));
            }
        }
        Ok(command)
    }
}

fn has_target(rustc: &str) -> bool {
    let found = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output();
    found.is_ok_and(|found| Path::new(String::from_utf8_lossy(&found.stdout).trim()).is_dir())
}

/// Debian's, which has no library for the target and compiles it once. `root` is where the system lies.
///
/// # Errors
/// The packages that are missing.
fn debian(root: &Path) -> Result<Toolchain, Vec<String>> {
    let rustc = root.join("usr/bin/rustc");
    let said = |args: &[&str]| {
        let output = Command::new(&rustc).args(args).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let version = said(&["-vV"]).unwrap_or_default();
    let llvm: Option<u32> =
        version.lines().find_map(|line| line.strip_prefix("LLVM version: ")?.split('.').next()?.parse().ok());
    let own = root.join("usr/lib/rustlib");
    let library = own.join("src/rust/library");
    let mut targets = std::fs::read_dir(&own).into_iter().flatten().flatten();
    let has_component_linker = targets.any(|target| target.path().join("bin/wasm-component-ld").is_file());
    // The linker reads what the compiler writes, so it is of the same version or a later one.
    let linker = llvm.and_then(|llvm| {
        let mut folders = (llvm..llvm + 5).map(|llvm| root.join(format!("usr/lib/llvm-{llvm}/bin")));
        folders.find(|folder| folder.join("wasm-ld").is_file())
    });
    // Which version of the linker fits is known once there is a compiler.
    let lld = llvm.map_or("lld".to_owned(), |llvm| format!("lld-{llvm}"));
    let (cargo, libc) = (root.join("usr/bin/cargo"), root.join("usr/lib/wasm32-wasi"));
    let parts = [
        (llvm.is_some(), "rustc-web"),
        (llvm.is_some(), "libstd-rust-web-dev"),
        (cargo.is_file(), "cargo-web"),
        (library.join("Cargo.toml").is_file(), "rust-web-src"),
        (has_component_linker, "rust-web-llvm"),
        (linker.is_some(), lld.as_str()),
        (libc.is_dir(), "wasi-libc"),
    ];
    let missing = parts.iter().filter(|(is_there, _)| !is_there).map(|(_, package)| (*package).to_owned());
    let missing: Vec<String> = missing.collect();
    let (Some(linker), true) = (linker, missing.is_empty()) else { return Err(missing) };
    let path = std::env::var("PATH").unwrap_or_default();
    let flags = format!("-Ctarget-feature=+simd128 -L{}", libc.display());
    Ok(Toolchain {
        cargo,
        environment: vec![
            ("RUSTC", rustc.display().to_string()),
            ("RUSTC_BOOTSTRAP", "1".into()),
            ("PATH", format!("{}:{path}", linker.display())),
            ("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS", flags),
        ],
        library: Some((library, version)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn each_missing_package_is_named() {
        let root = tempfile::tempdir().unwrap();
        let all = debian(root.path()).err().unwrap();
        let expect =
            ["rustc-web", "libstd-rust-web-dev", "cargo-web", "rust-web-src", "rust-web-llvm", "lld", "wasi-libc"];
        assert_eq!(all, expect);
        let put = |path: &str, text: &str| {
            let file = root.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        };
        put("usr/bin/rustc", "#!/bin/sh\necho LLVM version: 22.1.8\n");
        put("usr/bin/cargo", "");
        put("usr/lib/rustlib/src/rust/library/Cargo.toml", "");
        put("usr/lib/rustlib/x86_64-unknown-linux-gnu/bin/wasm-component-ld", "");
        put("usr/lib/wasm32-wasi/libc.a", "");
        // One that is older than the compiler does not read what that writes.
        put("usr/lib/llvm-14/bin/wasm-ld", "");
        assert_eq!(debian(root.path()).err().unwrap(), ["lld-22"]);
        put("usr/lib/llvm-22/bin/wasm-ld", "");
        assert!(debian(root.path()).is_ok_and(|toolchain| toolchain.library.is_some()));
    }
}
