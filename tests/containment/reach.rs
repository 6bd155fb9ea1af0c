//! Can a tool's program let its own call through? Everything that grants is tried from within, with what waits for a
//! person lying right in the workspace.

use super::{Channel, Person, run};
use crate::support::block_on;
use crate::support::house::{House, call};
use crate::support::user::binary;
use hermes_runtime::permission::approval::Approver;
use serde_json::json;
use std::sync::Arc;

#[test]
fn nothing_that_grants_is_reached_from_a_program() {
    let house = House::with_files();
    std::fs::copy(binary(), house.path("workspace/h")).unwrap();
    let made = std::process::Command::new("git").args(["init", "-q"]).current_dir(house.path("workspace")).status();
    assert!(made.unwrap().success());
    let settings = house.read(".git/config");
    let mut config = house.config();
    config.state_dir = house.path("workspace/.state");
    // One runtime parks a call, as nobody is there; in the other a person lets every program run.
    config.approval.park_wait_seconds = 0;
    let silent = house.start_with(config.clone(), Some(Arc::new(Channel::new(Person::Nobody)) as Arc<dyn Approver>));
    let write = || call("file_write", json!({ "path": "n.txt", "mode": "create", "content": "x" })).role("guest");
    block_on(async {
        let parked = silent.call(write()).await.envelope;
        let id = parked.error.as_ref().and_then(|error| error.approval_id.clone());
        let id = id.unwrap_or_else(|| panic!("it is not parked: {parked:#?}"));
        let yes = house.start_with(config, Some(Arc::new(Channel::new(Person::Yes)) as Arc<dyn Approver>));
        // A terminal of its own making would be a controlling terminal, and its owner is whoever made it.
        house.write(
            "t.py",
            "import os, pty, subprocess, sys\n\
             os.environ['XDG_STATE_HOME'] = '/workspace/.state'\n\
             argv = ['./h'] + sys.argv[1:]\n\
             try: code = os.waitstatus_to_exitcode(pty.spawn(argv))\n\
             except OSError: code = subprocess.run(argv, stderr=sys.stdout).returncode\n\
             sys.exit(code)\n",
        );
        house.write("mcp.json", "{\"mcpServers\":{\"x\":{\"command\":\"/bin/sh\"}}}");
        for line in [
            format!("approvals approve {id}"),
            "approvals watch".to_owned(),
            "servers import mcp.json".to_owned(),
            "trust".to_owned(),
            "tools accept".to_owned(),
            "token add x --operator".to_owned(),
            "session set y --workflow z".to_owned(),
            "call --role operator file_write path=n.txt mode=create content=x".to_owned(),
        ] {
            let ended = run(&yes, &format!("python3 t.py {line}")).await;
            assert_ne!(ended.code(), 200, "{line}: {ended:#?}");
            assert!(ended.data.to_string().contains("the sandbox of a tool"), "{line}: {ended:#?}");
        }
        let tries = [
            "mv .state moved",
            "cp -r .state copied",
            "rm -rf .state",
            "ln -s .state s; cat s/journal.db > stolen",
            "python3 -c \"open('.state/journal.db','ab').write(b'x')\"",
            "mount --bind /tmp .state",
            "unshare -r sh -c 'umount .state'",
            "cp h .git/hooks/post-index-change; mkdir .git/hooks; cp h .git/hooks/post-index-change",
            "echo '[core] hooksPath = /workspace' >> .git/config",
            "rm -f /.hermes-sandbox",
        ];
        house.write("try.sh", tries.join("\n"));
        let ended = run(&yes, "sh try.sh; ls -a / .state").await;
        let said = ended.data.to_string();
        assert!(said.contains(".hermes-sandbox") && !said.contains("journal.db\\n"), "{ended:#?}");
        // Files of tools fare no better.
        let link = json!({ "path": "s/journal.db" });
        assert_ne!(yes.call(call("file_read", link)).await.envelope.code(), 200);
        let again = silent.call(write()).await.envelope;
        assert_eq!(again.code(), 202, "it still waits: {again:#?}");
        assert_eq!(again.error.and_then(|error| error.approval_id.clone()), Some(id));
    });
    assert!(!house.path("workspace/n.txt").exists());
    assert!(house.path("workspace/.state/journal.db").metadata().unwrap().len() > 0);
    for path in ["moved", "copied/journal.db", ".git/hooks/post-index-change"] {
        assert!(!house.path("workspace").join(path).exists(), "{path} is there");
    }
    assert_eq!(house.read(".git/config"), settings);
    assert_eq!(std::fs::read(house.path("workspace/stolen")).unwrap_or_default(), b"");
}
