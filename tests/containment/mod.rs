//! What can a program not do to a place that it may write, and what becomes of a call whose sandbox is not whole? With
//! real repositories, real limits, and a kernel from which single calls are taken away.

mod git;
mod reach;
mod seen;
mod starting;

use crate::support::block_on;
use crate::support::house::{House, call, project};
use crate::support::people::{Channel, Person};
use crate::support::user::{User, binary};
use hermes_runtime::permission::approval::Approver;
use hermes_runtime::{Config, Envelope, Runtime};
use serde_json::{Value, json};
use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;

/// A runtime whose person says yes to everything.
fn start(house: &House, config: Config) -> Runtime {
    house.start_with(config, Some(Arc::new(Channel::new(Person::Yes)) as Arc<dyn Approver>))
}

async fn run(runtime: &Runtime, command: &str) -> Envelope {
    runtime.call(call("terminal", json!({ "command": command }))).await.envelope
}

/// Says whether a program could reach a server of this machine, and what it said.
async fn reaches(runtime: &Runtime, listener: &TcpListener, more: &str) -> bool {
    let port = listener.local_addr().unwrap().port();
    listener.set_nonblocking(true).unwrap();
    let script =
        format!("{more}python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 5).send(b'x')\"");
    let envelope = run(runtime, &script).await;
    let came = listener.accept().is_ok_and(|(mut stream, _)| {
        stream.set_nonblocking(false).unwrap();
        stream.read(&mut [0]).is_ok_and(|read| read == 1)
    });
    assert_eq!(envelope.code() == 200, came, "{envelope:#?}");
    came
}

#[test]
fn the_network_is_off_unless_the_operator_turns_it_on_and_always_for_what_reads() {
    let house = House::with_files();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    block_on(async {
        let off = start(&house, house.config());
        assert!(!reaches(&off, &listener, "").await, "a program has the network without a grant");
        drop(off);
        let mut config = house.config();
        config.completions.entry("terminal".into()).or_default().network = true;
        let on = start(&house, config);
        assert!(reaches(&on, &listener, "").await, "the operator's grant does nothing");
        // A call that only reads has none, whatever is granted: it does not even see the machine's names.
        let read = run(&on, "cat /etc/resolv.conf; ls -a /etc | grep -c hosts").await;
        assert_eq!(read.data["stdout"], "0\n", "{read:#?}");
    });
}

/// Takes one call of the kernel away from everything that is started after it.
const WITHOUT: &str = r"
import ctypes, os, struct, sys
line = lambda *parts: struct.pack('HBBI', *parts)
program = line(0x20, 0, 0, 0) + line(0x15, 0, 1, int(sys.argv[1])) + line(6, 0, 0, 0x50000 | 38) + line(6, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(program)
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('lines', ctypes.c_void_p)]
filter = Program(4, ctypes.cast(buffer, ctypes.c_void_p))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(filter), 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
";

#[cfg(target_arch = "x86_64")]
#[test]
fn a_call_is_refused_when_a_layer_is_missing_and_doctor_names_it() {
    let user = User::new();
    // Components are compiled while everything is there.
    user.run(&["call", "terminal", "command=ls"]).exits(0);
    let binary = binary();
    let without = |number: &str, args: &[&str]| {
        let mut command = user.program("python3");
        command.args(["-c", WITHOUT, number, binary.to_str().unwrap()]).args(args);
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    for (number, layer) in [
        ("444", "Landlock rules"),
        ("317", "filter of system calls"),
        ("272", "namespaces"),
        ("428", "mount namespace"),
        ("442", "mount namespace"),
        ("165", "mount namespace"),
    ] {
        let (code, out, err) = without(number, &["call", "terminal", "command=ls"]);
        assert_eq!(code, Some(4), "{layer}\n{out}\n{err}");
        let answer: Value = serde_json::from_str(&out).unwrap();
        let error = &answer["error"];
        assert_eq!((error["kind"].as_str(), error["reason"].as_str()), (Some("unavailable"), Some("layer_missing")));
        assert!(error["message"].as_str().unwrap().contains(layer), "{layer}: {error:#}");
        let (code, out, err) = without(number, &["doctor", "--output", "text"]);
        assert_eq!(code, Some(4), "{layer}\n{out}\n{err}");
        let said = out.lines().any(|line| line.starts_with("FAULT sandbox") && line.contains(layer));
        assert!(said, "{layer} is no fault of the sandbox in\n{out}");
    }
    // A server runs in the same sandbox, or in none where that is said.
    let script = project().join("tests/peers/peer.py");
    for (more, is_fault) in [("", true), ("sandbox.off = true\n", false)] {
        user.configure(&format!("[mcp.servers.peer]\nargv = [\"/usr/bin/python3\", {script:?}]\n{more}"));
        let (_, out, _) = without("444", &["doctor", "--output", "text"]);
        let mut faults = out.lines().filter(|line| line.starts_with("FAULT") && line.contains("the server `peer`"));
        let named = faults.any(|line| line.contains("Landlock rules") && line.contains("`sandbox.off = true`"));
        assert_eq!(named, is_fault, "{out}");
    }
    user.configure("");
    let whole = user.run(&["doctor", "--output", "text"]).exits(0).out;
    for layer in ["namespaces:", "user:", "repositories:", "limits:", "privileges:", "landlock:", "system calls:"] {
        let shown = whole
            .lines()
            .any(|line| line.starts_with("ok") && line.contains(&format!("sandbox {layer}")) || line.contains(layer));
        assert!(shown, "{layer} is not in\n{whole}");
    }
}

#[test]
fn a_disk_filler_ends_with_a_limit() {
    let house = House::with_files();
    let mut config = house.config();
    config.process.disk_mb = 16;
    let runtime = start(&house, config);
    block_on(async {
        let filler = "i=0; while true; do i=$((i+1)); head -c 4000000 /dev/zero > part$i; sleep 0.02; done";
        let args = json!({ "command": filler, "timeout_seconds": 50 });
        let envelope = runtime.call(call("terminal", args)).await.envelope;
        let error = envelope.error.expect("it went well");
        assert_eq!((error.code, error.reason.as_deref()), (502, Some("limit")), "{error:#?}");
        assert!(error.message.contains("disk"), "{error:#?}");
    });
}
