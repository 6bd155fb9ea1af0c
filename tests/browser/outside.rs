//! Where can a page not go? What is asserted is what arrives at a socket, not what the browser says it did.

use super::*;
use crate::support::block_on_within;
use crate::support::server::Answer;
use std::net::UdpSocket;

/// A page that tries every way out to a victim that it knows of, and says when it has tried them all.
fn hostile(victim: &str, udp: u16) -> String {
    let port = victim.rsplit(':').next().unwrap();
    format!(
        r##"<title>hostile</title>
<link rel=preconnect href="http://{victim}/preconnect"><link rel=dns-prefetch href="http://{victim}/">
<link rel=prefetch href="http://{victim}/prefetch"><link rel=stylesheet href="http://{victim}/style">
<img src="http://{victim}/image"><script src="http://{victim}/script"></script>
<iframe src="http://{victim}/frame"></iframe><iframe src="file:///etc/passwd"></iframe>
<iframe src="http://169.254.169.254/latest/meta-data"></iframe><iframe src="http://[::ffff:127.0.0.1]:{port}/mapped"></iframe>
<iframe src="http://2130706433:{port}/number"></iframe><iframe src="http://rebound.example:{port}/rebound"></iframe>
<object data="http://{victim}/object"></object><video src="http://{victim}/video"></video>
<style>@import 'http://{victim}/import'; @font-face {{ font-family: far; src: url('http://{victim}/font'); }} p {{ font-family: far }}</style>
<link rel=modulepreload href="http://{victim}/module"><iframe srcdoc="<meta http-equiv=refresh content='0;url=http://{victim}/refresh'>"></iframe>
<a id=a href="#here" ping="http://{victim}/ping">here</a><iframe id=moved></iframe><iframe src="/away"></iframe>
<script type=speculationrules>{{ "prefetch": [{{ "source": "list", "urls": ["http://{victim}/speculated"], "eagerness": "immediate" }}] }}</script>
<form id=f action="http://{victim}/form" method=post target=t></form><iframe name=t></iframe>
<p id=out>trying</p>
<script>
const tries = [
  () => fetch('http://{victim}/fetch', {{ mode: 'no-cors' }}),
  () => fetch('http://localhost:{port}/localhost', {{ mode: 'no-cors' }}),
  () => fetch('http://0.0.0.0:{port}/zero', {{ mode: 'no-cors' }}),
  () => new Promise((ok, no) => {{ const x = new XMLHttpRequest(); x.onload = ok; x.onerror = no; x.open('GET', 'http://{victim}/xhr'); x.send(); }}),
  () => new Promise((ok, no) => {{ const s = new WebSocket('ws://{victim}/socket'); s.onopen = ok; s.onerror = no; }}),
  () => new Promise((ok, no) => {{ const s = new EventSource('http://{victim}/events'); s.onopen = ok; s.onerror = no; }}),
  () => new Promise((ok, no) => {{
    const code = "fetch('http://{victim}/worker', {{ mode: 'no-cors' }}).then(() => postMessage(1), () => postMessage(0))";
    const w = new Worker(URL.createObjectURL(new Blob([code]))); w.onmessage = ok; w.onerror = no;
  }}),
  () => new Promise((ok, no) => {{
    const code = "onconnect = (e) => fetch('http://{victim}/shared', {{ mode: 'no-cors' }}).then(() => e.ports[0].postMessage(1), () => e.ports[0].postMessage(0))";
    const w = new SharedWorker(URL.createObjectURL(new Blob([code]))); w.onerror = no; w.port.onmessage = ok;
  }}),
  async () => {{
    const w = await navigator.serviceWorker.register('/service.js'); await navigator.serviceWorker.ready;
    const channel = new MessageChannel(); const said = new Promise((ok) => channel.port1.onmessage = ok);
    w.active.postMessage('http://{victim}/service', [channel.port2]); await said;
  }},
  () => import('http://{victim}/dynamic'),
  async () => {{ moved.contentWindow.location = 'http://{victim}/moved'; }},
  async () => {{ open('http://{victim}/opened'); }},
  async () => a.click(),
  () => new Promise((ok, no) => {{ const s = new WebSocket('ws://localhost:{port}/named'); s.onopen = ok; s.onerror = no; }}),
  () => fetch('http://[::1]:{port}/six', {{ mode: 'no-cors' }}),
  () => fetch('http://0x7f000001:{port}/hex', {{ mode: 'no-cors' }}),
  async () => navigator.sendBeacon('http://{victim}/beacon', 'x'),
  async () => f.submit(),
  async () => {{
    const c = new RTCPeerConnection({{ iceServers: [{{ urls: 'stun:127.0.0.1:{udp}' }}, {{ urls: 'turn:127.0.0.1:{port}?transport=tcp', username: 'a', credential: 'b' }}] }});
    c.createDataChannel('x'); await c.setLocalDescription(await c.createOffer());
    await new Promise((ok) => {{ c.onicegatheringstatechange = () => c.iceGatheringState === 'complete' && ok(); setTimeout(ok, 1500); }});
  }},
  async () => {{ const t = new WebTransport('https://127.0.0.1:{udp}/quic'); await t.ready; }},
];
const after = (t) => new Promise((ok) => setTimeout(ok, t));
Promise.allSettled(tries.map((t) => Promise.race([Promise.resolve().then(t), after(3000)]))).then(async () => {{
  await after(300); out.textContent = 'all tried';
}});
</script>"##
    )
}

/// A worker that stays and asks for what it is told.
const SERVICE: &str = "onmessage = (e) => fetch(e.data, { mode: 'no-cors' })
  .then(() => e.ports[0].postMessage(1), () => e.ports[0].postMessage(0));
  onactivate = (e) => e.waitUntil(clients.claim());";

struct Scene {
    server: Server,
    victim: Server,
    udp: UdpSocket,
}

fn scene() -> Scene {
    let (server, victim) = (Server::start(), Server::start());
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    server.answer("/away", Answer::Redirect(victim.url("/redirected")));
    server.answer("/service.js", Answer::Script(SERVICE.into()));
    server.page("/", hostile(&victim.host(), udp.local_addr().unwrap().port()));
    for path in ["/fetch", "/image", "/frame", "/rebound"] {
        victim.page(path, "victim");
    }
    Scene { server, victim, udp }
}

async fn visit(runtime: &Runtime, scene: &Scene) -> Value {
    let page = ok(runtime, "browser_navigate", json!({ "url": scene.server.url("/") })).await;
    ok(runtime, "browser_wait", json!({ "text": "all tried" })).await;
    page
}

#[test]
fn a_hostile_page_reaches_nothing_that_was_not_granted() {
    let scene = scene();
    let house = House::with_files();
    let mut config = config(&house, &[&scene.server]);
    config.browser.names.insert("rebound.example".into(), "127.0.0.1".parse().unwrap());
    let runtime = house.start(config);
    block_on_within(WATCHDOG, async {
        visit(&runtime, &scene).await;
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        let text = shown.to_string();
        assert!(!text.contains("root:"), "a file of the machine is shown: {text}");
        assert_eq!(scene.victim.asked(), Vec::<String>::new(), "what reached the victim");
        let mut buffer = [0; 64];
        assert!(scene.udp.recv_from(&mut buffer).is_err(), "a datagram came");
    });
}

/// The page of the test above does try: with the victim granted, the same ways lead there.
#[test]
fn the_same_page_reaches_what_was_granted() {
    let scene = scene();
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&scene.server, &scene.victim]));
    block_on_within(WATCHDOG, async {
        visit(&runtime, &scene).await;
        let asked = scene.victim.asked().join("\n");
        for way in [
            "/image",
            "/script",
            "/style",
            "/import",
            "/font",
            "/module",
            "/frame",
            "/object",
            "/fetch",
            "/xhr",
            "/socket",
            "/events",
            "/worker",
            "/shared",
            "/service",
            "/dynamic",
            "/beacon",
            "/form",
            "/refresh",
            "/moved",
            "/opened",
            "/redirected",
        ] {
            assert!(asked.contains(way), "{way} is not in\n{asked}");
        }
    });
}

/// What has no proxy to go through has no network at all: no name is looked up and no datagram is sent, by whatever
/// protocol. The browser's own network has nothing but itself, and whom it speaks with there is this runtime.
#[test]
fn the_browsers_network_has_nothing_but_its_way_out() {
    let scene = scene();
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&scene.server, &scene.victim]));
    block_on_within(WATCHDOG, async {
        visit(&runtime, &scene).await;
        let browser = lifetime::browsers();
        assert!(!browser.is_empty(), "no browser runs");
        for pid in browser {
            let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/net/{file}")).unwrap_or_default();
            let devices = read("dev");
            let names: Vec<&str> =
                devices.lines().skip(2).filter_map(|line| line.split(':').next()).map(str::trim).collect();
            assert_eq!(names, ["lo"], "devices of the browser's network");
            assert_eq!(read("route").lines().count(), 1, "a way leads out of the browser's network");
            // Remote ends in hexadecimal: none, or this machine's own in a network that nobody else is in.
            for line in ["tcp", "udp", "tcp6", "udp6"]
                .iter()
                .flat_map(|file| read(file).lines().skip(1).map(str::to_owned).collect::<Vec<_>>())
            {
                let remote = line.split_whitespace().nth(2).unwrap_or_default();
                let address = remote.split(':').next().unwrap_or_default();
                let is_own = address.ends_with("0100007F")
                    || address.bytes().all(|byte| byte == b'0')
                    || address.ends_with("01000000");
                assert!(is_own, "the browser speaks with {remote}");
            }
        }
        let mut buffer = [0; 64];
        assert!(scene.udp.recv_from(&mut buffer).is_err(), "a datagram came, though the address is granted");
    });
}

#[test]
fn the_runtimes_own_ports_are_never_reached() {
    let scene = scene();
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&scene.server, &scene.victim]));
    runtime.listens_on(([127, 0, 0, 1], scene.victim.port()).into());
    block_on_within(WATCHDOG, async {
        visit(&runtime, &scene).await;
        let own = json!({ "url": scene.victim.url("/frame") });
        let envelope = fails(&runtime, "browser_navigate", own, 403, "url_out_of_bounds").await;
        assert!(envelope.error.unwrap().message.contains("runtime itself"));
        assert_eq!(scene.victim.asked(), Vec::<String>::new(), "what reached the runtime's own port");
    });
}

#[test]
fn addresses_that_are_not_for_the_browser_are_refused_before_anything_is_asked() {
    let (server, victim) = (Server::start(), Server::start());
    let house = House::with_files();
    let mut config = config(&house, &[&server]);
    config.browser.names.insert("public.example".into(), "127.0.0.1".parse().unwrap());
    let runtime = house.start(config);
    let port = victim.port();
    block_on_within(WATCHDOG, async {
        for url in [
            "file:///etc/hostname".to_owned(),
            "view-source:file:///etc/hostname".into(),
            "javascript:alert(1)".into(),
            "data:text/html,hello".into(),
            "chrome://version".into(),
            "ftp://example.org/".into(),
            "blob:http://example.org/1".into(),
            "http://169.254.169.254/".into(),
            format!("http://127.0.0.1:{port}/"),
            format!("http://[::ffff:127.0.0.1]:{port}/"),
            format!("http://2130706433:{port}/"),
            format!("http://0x7f.1:{port}/"),
            format!("http://localhost:{port}/"),
            format!("http://public.example:{port}/"),
        ] {
            let envelope = runtime.call(call("browser_navigate", json!({ "url": url }))).await.envelope;
            assert_eq!(envelope.code(), 403, "{url}: {:#?}", envelope.error);
        }
        for target in [
            victim.url("/"),
            format!("http://public.example:{port}/"),
            "http://169.254.169.254/latest".into(),
            "file:///etc/hostname".into(),
        ] {
            server.answer("/away", Answer::Redirect(target.clone()));
            let envelope = runtime.call(call("browser_navigate", json!({ "url": server.url("/away") }))).await.envelope;
            assert!(matches!(envelope.code(), 403 | 502), "{target}: {:#?}", envelope.error);
        }
        for bad in ["http://", "not an address", "//example.org/", "http://exa mple.org/"] {
            let envelope = runtime.call(call("browser_navigate", json!({ "url": bad }))).await.envelope;
            assert_eq!(envelope.code(), 400, "{bad}: {:#?}", envelope.error);
        }
        assert_eq!(victim.asked(), Vec::<String>::new(), "what reached the victim");
        let tabs = ok(&runtime, "browser_tabs", empty()).await;
        assert_eq!(tabs["tabs"], json!([]), "tabs of calls that failed");
        server.page("/", "<title>fine</title>");
        let page = ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        assert_eq!(page["title"], "fine");
    });
}

#[test]
fn a_page_gets_no_permission() {
    let server = Server::start();
    server.page(
        "/",
        "<script>
        const names = ['geolocation', 'notifications', 'camera', 'microphone'];
        Promise.all(names.map((name) => navigator.permissions.query({ name }).then((p) => p.state, (e) => '' + e)))
          .then((all) => out.textContent = 'states ' + all.join(' '));
        </script><p id=out></p>",
    );
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&server]));
    block_on_within(WATCHDOG, async {
        ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        ok(&runtime, "browser_wait", json!({ "text": "states " })).await;
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        assert!(shown["text"].as_str().unwrap().contains("states denied denied denied denied"), "{shown:#}");
    });
}
