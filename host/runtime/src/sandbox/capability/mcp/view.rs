//! What does the program of a server see of this machine? What the operator lists, and what it needs to start: its own
//! program, the files that its command line names, and the packages that these belong to. Looks at names and links only;
//! starts nothing.
#![expect(clippy::disallowed_methods, reason = "looks what of a server's command line is there")]

use crate::config::Config;
use crate::document::printable;
use crate::servers::Server;
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

/// Where programs are looked for when the environment does not say it.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
/// What every program in the sandbox sees.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// What lies beside a folder `bin` and belongs to the programs in it.
const BESIDE: [&str; 5] = ["lib", "lib32", "lib64", "libexec", "pyvenv.cfg"];
/// Where the packages of Node lie beside each other.
const MODULES: &str = "node_modules";
/// What says that a folder is a package.
const PACKAGES: [&str; 2] = ["package.json", "pyproject.toml"];
/// How the files of packages end that interpreters are given.
const SCRIPTS: [&str; 9] = ["js", "mjs", "cjs", "ts", "mts", "py", "rb", "php", "pl"];
/// Links, and interpreters of interpreters, that are followed.
const DEPTH: u32 = 16;
/// Bytes of a program in which its interpreter is named.
const FIRST_LINE: u64 = 256;

/// What is private on this machine, whatever a server's command line says. Lifetime: the runtime.
#[derive(Clone, Debug, Default)]
pub(crate) struct Private {
    home: Option<PathBuf>,
    /// The folders that tools work in.
    folders: Vec<PathBuf>,
    /// What the runtime itself lives on.
    protected: Vec<PathBuf>,
    /// Folders of programs, as the environment lists them.
    search: String,
}

/// What one server's program sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// The program, by its whole path.
    pub(crate) program: PathBuf,
    pub(crate) directory: PathBuf,
    /// What it needs to start, and what is listed.
    pub(crate) read: BTreeSet<PathBuf>,
    pub(crate) write: BTreeSet<PathBuf>,
    /// What is covered within these.
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) network: bool,
    /// What its command line names and it does not see, since that is a home, a workspace, or holds one.
    pub(crate) kept_back: BTreeSet<PathBuf>,
}

impl Private {
    pub(crate) fn of(config: &Config) -> Private {
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        Private {
            home: std::env::home_dir().map(|home| real(&home)),
            folders: config.grants.values().map(|grant| real(&grant.path)).collect(),
            protected: config.protected.iter().map(real).collect(),
            search: std::env::var("PATH").unwrap_or_else(|_| PATH.to_owned()),
        }
    }

    /// The search path that a server's program has, too.
    pub(crate) fn search(&self) -> &str {
        &self.search
    }

    /// Whether a folder may be seen because a command line leads to it.
    fn is_open(&self, folder: &Path) -> bool {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let holds = |private: &PathBuf| private.starts_with(&real);
        real.parent().is_some() && !self.home.iter().chain(&self.folders).any(holds)
    }

    /// Where a program is that a command line names.
    fn find(&self, name: &str, directory: &Path) -> Option<PathBuf> {
        match name.contains('/') {
            true => Some(directory.join(name)).filter(|path| path.is_file()),
            false => {
                let folders = self.search.split(':').filter(|folder| folder.starts_with('/'));
                folders.map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
            }
        }
    }
}

/// What the program of a server sees, or what is wrong with what is listed for it.
pub(crate) fn view(server: &Server, private: &Private) -> Result<View, String> {
    let name = server.argv.first().map(String::as_str).unwrap_or_default();
    let directory = server.directory.clone().unwrap_or_else(|| "/".into());
    if !directory.is_dir() {
        return Err(format!("its folder `{}` is not there", shown(&directory)));
    }
    let program = private
        .find(name, &directory)
        .ok_or_else(|| format!("it cannot be started: `{}` is no program that can be found", printable(name)))?;
    let mut view = View { program: program.clone(), directory, network: server.sandbox.network, ..View::default() };
    view.add_program(&program, private, DEPTH);
    for word in server.argv.iter().skip(1) {
        let value = word.split_once('=').map(|(_, value)| value);
        for text in [Some(word.as_str()), value].into_iter().flatten().filter(|text| !text.is_empty()) {
            view.add_named(text, server.directory.as_deref(), private);
        }
    }
    for (listed, writable) in [(&server.sandbox.read, false), (&server.sandbox.write, true)] {
        for place in listed {
            let real = place.canonicalize();
            let real =
                real.map_err(|error| format!("`{}`, which its `sandbox` lists: {}", shown(place), error.kind()))?;
            if private.protected.iter().any(|own| real.starts_with(own)) {
                return Err(format!("`{}`, which its `sandbox` lists, is kept from everything", shown(place)));
            }
            let places = if writable { &mut view.write } else { &mut view.read };
            places.extend([real, place.clone()]);
        }
    }
    view.kept_back.retain(|place| !view.read.contains(place) && !view.write.contains(place));
    let seen: Vec<&PathBuf> = view.read.iter().chain(&view.write).collect();
    let is_seen = |own: &&PathBuf| seen.iter().any(|place| own.starts_with(place));
    view.hidden = private.protected.iter().filter(is_seen).cloned().collect();
    Ok(view)
}

impl View {
    /// A file or folder that a word of the command line names: by its whole path, or from the folder where it starts.
    fn add_named(&mut self, text: &str, directory: Option<&Path>, private: &Private) {
        let path = match directory {
            Some(directory) => directory.join(text),
            None => PathBuf::from(text),
        };
        if !path.is_absolute() {
            return;
        }
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                if private.is_open(&path) {
                    self.add(&path);
                } else {
                    self.kept_back.insert(path);
                }
            }
            Ok(_) => self.add_file(&path, private, DEPTH),
            Err(_) => {}
        }
    }

    /// A file with its package, and whatever it is a link to.
    fn add_file(&mut self, path: &Path, private: &Private, depth: u32) {
        let modules = path.ancestors().filter(|above| above.file_name().is_some_and(|name| name == MODULES)).last();
        let is_script = path.extension().and_then(|end| end.to_str()).is_some_and(|end| SCRIPTS.contains(&end));
        let is_package = |folder: &&Path| PACKAGES.iter().any(|mark| folder.join(mark).is_file());
        let package = path.ancestors().skip(1).find(is_package).filter(|_| is_script);
        match modules.or(package).filter(|folder| private.is_open(folder)) {
            Some(folder) => self.add(folder),
            None => self.add(path),
        }
        if let Some(target) = leads_to(path).filter(|_| depth > 0) {
            self.add_file(&target, private, depth - 1);
        }
    }

    /// A program with what it belongs to, whatever it is a link to, and what runs it.
    fn add_program(&mut self, path: &Path, private: &Private, depth: u32) {
        // A stand-in of a version manager, which keeps the versions beside it.
        let shims = path.parent().filter(|folder| folder.file_name().is_some_and(|name| name == "shims"));
        if let Some(manager) = shims.and_then(Path::parent).filter(|manager| private.is_open(manager)) {
            self.add(manager);
        }
        let folder = path.parent().filter(|folder| folder.file_name().is_some_and(|name| name == "bin"));
        match folder.filter(|folder| private.is_open(folder)).and_then(|folder| Some((folder, folder.parent()?))) {
            Some((folder, above)) => {
                self.add(folder);
                BESIDE.iter().map(|name| above.join(name)).filter(|beside| beside.exists()).for_each(|b| self.add(&b));
            }
            None => self.add_file(path, private, 0),
        }
        if depth == 0 {
            return;
        }
        if let Some(target) = leads_to(path) {
            self.add_program(&target, private, depth - 1);
        } else if let Some(interpreter) = interpreter(path).and_then(|name| private.find(&name, Path::new("/"))) {
            self.add_program(&interpreter, private, depth - 1);
        }
    }

    /// What everybody sees is not listed again.
    fn add(&mut self, path: &Path) {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        for place in [real, path.to_owned()] {
            if !SYSTEM.iter().any(|system| place.starts_with(system)) {
                self.read.insert(place);
            }
        }
    }
}

/// What a link leads to, one step, by a path that only goes down.
fn leads_to(path: &Path) -> Option<PathBuf> {
    let target = path.parent()?.join(std::fs::read_link(path).ok()?);
    match target.components().any(|part| part == std::path::Component::ParentDir) {
        true => Some(target.parent()?.canonicalize().ok()?.join(target.file_name()?)),
        false => Some(target),
    }
}

/// What the first line of a script says that runs it: a program, or its name on the search path.
fn interpreter(path: &Path) -> Option<String> {
    let file = std::fs::File::open(path).ok()?;
    let mut line = Vec::new();
    std::io::BufReader::new(file.take(FIRST_LINE)).read_until(b'\n', &mut line).ok()?;
    let line = String::from_utf8(line).ok()?;
    let mut words = line.strip_prefix("#!")?.split_whitespace();
    let first = words.next()?;
    match first.ends_with("/env") {
        true => words.find(|word| !word.starts_with('-') && !word.contains('=')).map(str::to_owned),
        false => Some(first.to_owned()),
    }
}

fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

impl Display for View {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let all = |places: &BTreeSet<PathBuf>| {
            let outermost =
                places.iter().filter(|place| !place.ancestors().skip(1).any(|above| places.contains(above)));
            outermost.map(|place| shown(place)).collect::<Vec<_>>().join(", ")
        };
        match self.read.is_empty() {
            true => write!(f, "sees the system's programs only")?,
            false => write!(f, "sees {}", all(&self.read))?,
        }
        if !self.write.is_empty() {
            write!(f, "; may change {}", all(&self.write))?;
        }
        if !self.kept_back.is_empty() {
            write!(f, "; does not see {}, which its command line names", all(&self.kept_back))?;
        }
        write!(f, "; {}", if self.network { "has the network" } else { "no network" })
    }
}

/// What each server in service that is a program of this machine gets of it, in words, or why it cannot be started.
pub fn servers_seen(config: &Config) -> Vec<(String, Result<String, String>)> {
    let private = Private::of(config);
    let programs = config.mcp.servers.iter().filter(|(_, server)| !server.disabled && !server.argv.is_empty());
    let said = |server: &Server| match server.sandbox.off {
        true => Ok("NOT in the sandbox: it has all that you have (`sandbox.off`)".to_owned()),
        false => view(server, &private).map(|view| view.to_string()),
    };
    programs.map(|(name, server)| (name.clone(), said(server))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A machine in a folder: a home with a workspace, and what people install.
    struct Machine {
        root: tempfile::TempDir,
        private: Private,
    }

    impl Machine {
        fn new(files: &[&str]) -> Machine {
            let root = tempfile::tempdir().unwrap();
            let path = root.path().canonicalize().unwrap();
            for file in files {
                let file = path.join(file);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, "").unwrap();
            }
            let home = path.join("home");
            let private = Private {
                folders: vec![home.join("project")],
                protected: vec![home.join(".state")],
                home: Some(home),
                search: path.join("tools/bin").display().to_string(),
            };
            Machine { root, private }
        }

        fn path(&self, name: &str) -> String {
            self.root.path().canonicalize().unwrap().join(name).display().to_string()
        }

        /// What a command line sees, from the top of the machine. `@` stands for it.
        fn sees(&self, words: &[&str]) -> Vec<String> {
            let argv = words.iter().map(|word| word.replace('@', &self.path(""))).collect();
            let view = view(&Server { argv, ..Server::default() }, &self.private).unwrap();
            let top = self.path("");
            view.read.iter().map(|place| place.display().to_string().replace(&top, "@")).collect()
        }
    }

    #[test]
    fn a_program_is_seen_with_what_it_needs_and_no_more() {
        let machine = Machine::new(&[
            "opt/node/bin/node",
            "opt/node/lib/x",
            "opt/node/share/x",
            "home/project/package.json",
            "home/project/dist/index.js",
            "home/p/node_modules/a/b/node_modules/c/index.js",
            "home/p/package.json",
            "home/q/package.json",
            "home/q/dist/index.js",
            "home/q/data.db",
            "home/bin/own",
            "home/lib/x",
            "home/alone",
            "home/package.json",
            "home/s.py",
            "home/.env/shims/own",
            "home/.env/versions/1/own",
        ]);
        let check = |words: &[&str], expect: &[&str]| assert_eq!(machine.sees(words), expect, "{words:?}");
        let node = "@opt/node/bin/node";
        check(&[node], &["@opt/node/bin", "@opt/node/lib"]);
        let modules = "@home/p/node_modules/a/b/node_modules/c/index.js";
        check(&[node, modules], &["@home/p/node_modules", "@opt/node/bin", "@opt/node/lib"]);
        check(&[node, "@home/q/dist/index.js"], &["@home/q", "@opt/node/bin", "@opt/node/lib"]);
        // Neither a workspace nor the home is seen because a script lies in it, nor a folder because of its data.
        check(
            &[node, "@home/project/dist/index.js"],
            &["@home/project/dist/index.js", "@opt/node/bin", "@opt/node/lib"],
        );
        check(&["@home/alone", "@home/s.py"], &["@home/alone", "@home/s.py"]);
        check(&["@home/alone", "--db=@home/q/data.db"], &["@home/alone", "@home/q/data.db"]);
        check(&["@home/bin/own"], &["@home/bin", "@home/lib"]);
        check(&["@home/.env/shims/own"], &["@home/.env", "@home/.env/shims/own"]);
        check(&["@home/alone", "@home"], &["@home/alone"]);
        check(&["@home/alone", "@home/project", "/"], &["@home/alone"]);
        check(&["@home/alone", "@home/q", "@nothing"], &["@home/alone", "@home/q"]);
    }

    #[test]
    fn links_and_interpreters_are_followed() {
        let machine = Machine::new(&["python/bin/python3", "python/lib/x", "venv/pyvenv.cfg", "venv/lib/y"]);
        std::fs::create_dir_all(machine.path("venv/bin")).unwrap();
        std::fs::create_dir_all(machine.path("tools/bin")).unwrap();
        symlink(machine.path("python/bin/python3"), machine.path("venv/bin/python")).unwrap();
        std::fs::write(machine.path("venv/bin/serve"), format!("#!{}\n", machine.path("venv/bin/python"))).unwrap();
        symlink("../../venv/bin/serve", machine.path("tools/bin/serve")).unwrap();
        let python = ["@python/bin", "@python/lib"];
        let venv = ["@venv/bin", "@venv/lib", "@venv/pyvenv.cfg"];
        assert_eq!(machine.sees(&["@venv/bin/python"]), [&python[..], &venv].concat());
        let seen = machine.sees(&["serve"]);
        for wanted in [&python[..], &venv, &["@tools/bin"]].concat() {
            assert!(seen.iter().any(|place| place == wanted), "{wanted} is not in {seen:?}");
        }
        // One that leads to itself is an end like any other.
        symlink("self", machine.path("tools/self")).unwrap();
        assert!(
            view(&Server { argv: vec![machine.path("tools/self")], ..Server::default() }, &machine.private).is_err()
        );
    }

    #[test]
    fn what_is_listed_is_seen_but_for_what_the_runtime_lives_on() {
        let machine = Machine::new(&["home/.state/journal", "home/alone", "home/data/x"]);
        let with = |read: &str, write: &str| {
            let list = |name: &str| if name.is_empty() { Vec::new() } else { vec![PathBuf::from(machine.path(name))] };
            let sandbox = crate::servers::ServerSandbox { read: list(read), write: list(write), ..Default::default() };
            view(&Server { argv: vec![machine.path("home/alone")], sandbox, ..Server::default() }, &machine.private)
        };
        let seen = with("home", "home/data").unwrap();
        assert!(seen.write.contains(Path::new(&machine.path("home/data"))), "{seen:?}");
        assert_eq!(seen.hidden, [PathBuf::from(machine.path("home/.state"))]);
        assert!(with("home/.state/journal", "").unwrap_err().contains("is kept from everything"));
        assert!(with("", "home/.state").unwrap_err().contains("is kept from everything"));
        assert!(with("home/missing", "").unwrap_err().contains("missing"));
    }
}
