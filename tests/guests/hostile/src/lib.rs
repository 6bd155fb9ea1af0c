//! What can a component do with Rust's standard library that nobody granted it anything for? Each name of an attempt
//! is tried and answered with what came of it. Must not be of use for anything else.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is one of the attempts")]

mod bindings {
    wit_bindgen::generate!({ world: "tool", path: "../../../wit" });
}

use bindings::exports::hermes::tool::tool_execution::{Call, Description, Error, Guest, Output};
use bindings::hermes::tool::types::Content;
use std::hint::black_box;
use std::io::{Read, Write};

struct Hostile;

impl Guest for Hostile {
    fn describe() -> Description {
        Description { name: "hostile".into(), version: "0.1.0".into(), tools: Vec::new() }
    }

    fn execute(call: Call) -> Result<Output, Error> {
        // The arguments are `{"attempt":"NAME"}`; a parser would only be one more thing to break.
        let attempt = call.args.trim_start_matches("{\"attempt\":\"").trim_end_matches("\"}");
        let said = attempt_at(attempt);
        Ok(Output { data: None, content: vec![Content::Text(said)], metadata: None })
    }

    fn check_health() -> Result<(), Error> {
        Ok(())
    }
}

bindings::export!(Hostile with_types_in bindings);

/// `refused: …` where the system said no; anything else is what was reached.
fn attempt_at(attempt: &str) -> String {
    match attempt {
        "environment" => format!("{} variables", std::env::vars().count()),
        "arguments" => format!("{} arguments", std::env::args().count()),
        "directory" => shown(std::env::current_dir().and_then(std::fs::read_dir).map(|found| found.count())),
        "read" => shown(std::fs::read_to_string("/etc/passwd")),
        "read_own" => shown(std::fs::read_to_string("/workspace/secret.txt")),
        "read_process" => shown(std::fs::read_to_string("/proc/self/environ")),
        "write" => shown(std::fs::write("/tmp/canary", "x")),
        "truncate" => {
            shown(std::fs::File::options().write(true).truncate(true).open("/workspace/secret.txt").map(drop))
        }
        "rename" => shown(std::fs::rename("/workspace/secret.txt", "/outside/secret.txt")),
        "hard_link" => shown(std::fs::hard_link("/workspace/secret.txt", "/outside/secret.txt")),
        "symbolic_link" => shown(symbolic_link()),
        "remove" => shown(std::fs::remove_file("/workspace/secret.txt")),
        "input" => {
            let mut bytes = Vec::new();
            format!("{} bytes", std::io::stdin().read_to_end(&mut bytes).unwrap_or_default())
        }
        "program" => shown(std::process::Command::new("/bin/sh").spawn().map(drop)),
        "connect" => shown(std::net::TcpStream::connect("127.0.0.1:80").map(drop)),
        "listen" => shown(std::net::TcpListener::bind("127.0.0.1:0").map(drop)),
        "datagram" => shown(std::net::UdpSocket::bind("127.0.0.1:0").map(drop)),
        "look_up" => shown(std::net::ToSocketAddrs::to_socket_addrs(&("localhost", 80)).map(|found| found.count())),
        "print" => flood(&mut std::io::stdout()),
        "print_errors" => flood(&mut std::io::stderr()),
        "say" => {
            print!("one ");
            eprintln!("oh\u{1b}[2J");
            println!("two");
            "said".into()
        }
        "panic" => panic!("on purpose"),
        "exit" => std::process::exit(3),
        "abort" => std::process::abort(),
        "sleep" => {
            std::thread::sleep(std::time::Duration::from_secs(3600));
            "slept".into()
        }
        "wait_for_time" => {
            let began = std::time::Instant::now();
            while began.elapsed() < std::time::Duration::from_secs(3600) {}
            "waited".into()
        }
        "allocate" => {
            let mut kept = Vec::new();
            loop {
                kept.push(vec![black_box(1_u8); 1 << 20]);
            }
        }
        "recurse" => format!("{}", recurse(1)),
        "loop" => loop {
            black_box(());
        },
        "clock" => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            format!("{} {:?}", now.as_millis(), std::collections::hash_map::RandomState::new())
        }
        "random" => {
            use std::hash::{BuildHasher, Hasher};
            format!("{}", std::collections::hash_map::RandomState::new().build_hasher().finish())
        }
        other => format!("no attempt is called `{other}`"),
    }
}

fn shown<T: std::fmt::Debug>(result: std::io::Result<T>) -> String {
    match result {
        Ok(reached) => format!("reached: {reached:?}"),
        Err(error) => format!("refused: {error}"),
    }
}

#[cfg(target_os = "wasi")]
fn symbolic_link() -> std::io::Result<()> {
    // The standard library has no stable function for it here; opening a path that a link would have is as far as it gets.
    std::fs::File::options().write(true).create_new(true).open("/workspace/link").map(drop)
}

#[cfg(not(target_os = "wasi"))]
fn symbolic_link() -> std::io::Result<()> {
    Err(std::io::Error::other("only as a guest"))
}

fn flood(to: &mut impl Write) -> String {
    let line = [b'x'; 1024];
    loop {
        if let Err(error) = to.write_all(&line) {
            return format!("refused: {error}");
        }
    }
}

fn recurse(depth: u64) -> u64 {
    let kept = black_box([depth; 64]);
    match black_box(depth) {
        0 => 0,
        depth => recurse(depth + 1) + kept[0],
    }
}
