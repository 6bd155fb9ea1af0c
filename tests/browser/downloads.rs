//! What becomes of files that a page gives? Kept where that was granted, under a clean name, up to a size; refused by
//! name otherwise.

use super::*;
use crate::support::block_on_within;
use crate::support::server::Answer;

#[test]
fn a_file_is_kept_where_that_was_granted_and_nowhere_else() {
    let server = Server::start();
    server.answer("/f.csv", Answer::File("attachment; filename=\"f.csv\"".into(), 5000));
    server.answer("/evil", Answer::File("attachment; filename=\"../../x.sh\"".into(), 10));
    server.answer("/huge", Answer::File("attachment; filename=\"huge.bin\"".into(), 2 << 30));
    server.page("/", "<title>fine</title><a href=/f.csv>Report</a>");
    let house = House::with_files();
    let mut config = config(&house, &[&server]);
    config.browser.downloads = Some("/workspace/downloads".into());
    config.browser.download_mb = 1;
    let runtime = house.start(config);
    block_on_within(WATCHDOG, async {
        let kept = ok(&runtime, "browser_navigate", json!({ "url": server.url("/f.csv") })).await;
        assert_eq!(kept["downloads"][0]["path"], "/workspace/downloads/f.csv", "{kept:#}");
        assert_eq!(kept["downloads"][0]["bytes"], 5000, "{kept:#}");
        let evil = ok(&runtime, "browser_navigate", json!({ "url": server.url("/evil") })).await;
        assert_eq!(evil["downloads"][0]["path"], "/workspace/downloads/x.sh", "{evil:#}");
        let huge = fails(&runtime, "browser_navigate", json!({ "url": server.url("/huge") }), 403, "download_refused");
        assert!(huge.await.data["downloads"][0]["state"].as_str().unwrap().contains("larger"));
        // The tab is as good as before, and a link does the same as an address; a name that is taken is not taken again.
        ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        let linked = ok(&runtime, "browser_click", json!({ "ref": reference(&shown, "Report") })).await;
        assert_eq!(linked["downloads"][0]["path"], "/workspace/downloads/f (2).csv", "{linked:#}");
    });
    let mut names: Vec<_> =
        std::fs::read_dir(house.path("workspace/downloads")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["f (2).csv", "f.csv", "x.sh"]);
    assert!(!house.path("x.sh").exists() && !house.path("workspace/x.sh").exists());
}

#[test]
fn without_a_folder_nothing_is_kept() {
    let server = Server::start();
    server.answer("/f.csv", Answer::File("attachment; filename=\"f.csv\"".into(), 5000));
    server.page("/", "<title>fine</title>");
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&server]));
    block_on_within(WATCHDOG, async {
        let refused =
            fails(&runtime, "browser_navigate", json!({ "url": server.url("/f.csv") }), 403, "download_refused");
        assert_eq!(refused.await.data["downloads"][0]["name"], "f.csv");
        let page = ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        assert_eq!(page["title"], "fine");
    });
    assert_eq!(std::fs::read_dir(house.path("workspace")).unwrap().count(), 0);
}
