//! How is the browser started? Which program, with which settings, in which sandbox: a view of its own that is gone
//! with it, a network of its own whose only way out is the runtime, and beneath both the browser's own sandbox.

use super::{Failure, Reason, failure};
use crate::config::BrowserSettings;
use crate::sandbox::capability::process::child::{Resident, start_resident};
use crate::sandbox::capability::process::plan::{Cause, Channel, Failed, Plan, ProcessLimits};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where browsers of this family are installed. Programs themselves come before the scripts that start them.
const PROGRAMS: &[&str] = &[
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
];
/// Where such browsers look for the rules of whoever looks after the machine.
const POLICY_FOLDERS: &[&str] = &["/etc/chromium/policies/managed", "/etc/opt/chrome/policies/managed"];
/// What of the machine a browser needs besides: how fonts are found.
const SYSTEM: &[&str] = &["/etc/fonts", "/var/cache/fontconfig"];
/// Size of the window, in pixels.
const WINDOW: &str = "1280,800";

/// Which program is the browser.
#[expect(clippy::disallowed_methods, reason = "looks whether the browser is installed")]
pub(super) fn program(settings: &BrowserSettings) -> Result<PathBuf, Failure> {
    let named = settings.program.as_deref();
    let mut candidates = named.into_iter().chain(PROGRAMS.iter().map(Path::new).filter(|_| named.is_none()));
    let found = candidates.find(|program| program.metadata().is_ok_and(|metadata| metadata.is_file()));
    found.map(Path::to_owned).ok_or_else(|| match named {
        Some(_) => failure(Reason::NotInstalled, "the program that `browser.program` names is not there"),
        None => failure(Reason::NotInstalled, "no Chromium is installed where it is looked for"),
    })
}

/// Starts the browser.
///
/// Dropping the future ends what was started.
pub(super) async fn start(settings: &BrowserSettings, helper: &Path, deadline: Instant) -> Result<Resident, Failure> {
    let program = program(settings)?;
    start_resident(helper, &plan(settings, &program), deadline).await.map_err(from_failed)
}

fn from_failed(failed: Failed) -> Failure {
    let reason = match failed.cause {
        Cause::ProgramNotFound | Cause::NotAProgram => Reason::NotInstalled,
        Cause::Layer => Reason::LayerMissing,
        Cause::PermissionDenied
        | Cause::DirectoryNotFound
        | Cause::NotADirectory
        | Cause::OutOfBounds
        | Cause::TooLarge => Reason::Unavailable,
    };
    failure(reason, failed.message)
}

fn plan(settings: &BrowserSettings, program: &Path) -> Plan {
    let bytes = |mb: u64| mb.saturating_mul(1 << 20);
    let pairs = [("HOME", "/var/agent"), ("LANG", "C.UTF-8"), ("TMPDIR", "/tmp"), ("PATH", "/usr/bin:/bin")];
    let policy = policy().to_string();
    // A browser that lies beside the system's programs is not seen otherwise.
    let beside = program.parent().filter(|folder| !folder.starts_with("/usr")).map(Path::to_owned);
    Plan {
        program: program.to_string_lossy().into_owned(),
        args: arguments(settings),
        environment: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        directory: "/".into(),
        input: 0,
        grants: Vec::new(),
        hidden: Vec::new(),
        fixed: Vec::new(),
        system: SYSTEM.iter().map(PathBuf::from).chain(beside).collect(),
        network: false,
        files: POLICY_FOLDERS.iter().map(|folder| (format!("{folder}/hermes.json"), policy.clone())).collect(),
        channel: Some(Channel {
            ways_out: u16::try_from(settings.sessions).unwrap_or(u16::MAX).clamp(1, super::MOST_SESSIONS),
            nests: settings.sandbox,
        }),
        talks: false,
        limits: ProcessLimits {
            processes: settings.processes,
            file: bytes(settings.temporary_mb),
            memory: bytes(settings.memory_mb),
            temporary: bytes(settings.temporary_mb),
        },
    }
}

fn arguments(settings: &BrowserSettings) -> Vec<String> {
    let fixed = [
        "--headless=new",
        "--remote-debugging-pipe",
        "--user-data-dir=/var/agent/profile",
        "--no-first-run",
        "--no-default-browser-check",
        "--disable-gpu",
        "--mute-audio",
        "--hide-scrollbars",
        "--force-color-profile=srgb",
        "--password-store=basic",
        "--use-mock-keychain",
        // Nothing that the browser does on its own account.
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-extensions",
        "--disable-sync",
        "--disable-breakpad",
        "--disable-crash-reporter",
        "--disable-client-side-phishing-detection",
        "--disable-domain-reliability",
        "--disable-field-trial-config",
        "--disable-search-engine-choice-screen",
        "--no-pings",
        "--metrics-recording-only",
        // A page in the background is as quick as one in front.
        "--disable-background-timer-throttling",
        "--disable-backgrounding-occluded-windows",
        "--disable-renderer-backgrounding",
        // What is not loaded through the proxy of its own context is not loaded; names are not looked up here.
        "--proxy-server=http://127.0.0.1:9",
        "--proxy-bypass-list=<-loopback>",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--disable-quic",
        "--dns-prefetch-disable",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--force-webrtc-ip-handling-policy",
    ];
    let off = [
        "AutofillServerCommunication",
        "BackForwardCache",
        "CertificateTransparencyComponentUpdater",
        "DialMediaRouteProvider",
        "GlobalMediaControls",
        "InterestFeedContentSuggestions",
        "MediaRouter",
        "OptimizationHints",
        "Prerender2",
        "Translate",
    ];
    let mut all: Vec<String> = fixed.map(str::to_owned).into();
    all.push(format!("--disable-features={}", off.join(",")));
    all.push(format!("--window-size={WINDOW}"));
    if !settings.sandbox {
        all.push("--no-sandbox".into());
    }
    all
}

/// The browser's own rules: they hold for every page, whatever the protocol is asked for.
fn policy() -> serde_json::Value {
    /// No, and no question about it.
    const BLOCK: u8 = 2;
    json!({
        "URLBlocklist": [
            "file://*", "ftp://*", "view-source:*", "chrome://*", "chrome-untrusted://*", "chrome-extension://*",
            "devtools://*", "filesystem:*", "javascript://*",
        ],
        "DefaultNotificationsSetting": BLOCK,
        "DefaultGeolocationSetting": BLOCK,
        "DefaultSensorsSetting": BLOCK,
        "DefaultSerialGuardSetting": BLOCK,
        "DefaultWebUsbGuardSetting": BLOCK,
        "DefaultWebHidGuardSetting": BLOCK,
        "DefaultWebBluetoothGuardSetting": BLOCK,
        "DefaultFileSystemReadGuardSetting": BLOCK,
        "DefaultFileSystemWriteGuardSetting": BLOCK,
        "DefaultClipboardSetting": BLOCK,
        "DefaultLocalFontsSetting": BLOCK,
        "DefaultWindowManagementSetting": BLOCK,
        "DefaultPopupsSetting": 1,
        "AudioCaptureAllowed": false,
        "VideoCaptureAllowed": false,
        "ScreenCaptureAllowed": false,
        "AutofillAddressEnabled": false,
        "AutofillCreditCardEnabled": false,
        "PasswordManagerEnabled": false,
        "BackgroundModeEnabled": false,
        "BuiltInDnsClientEnabled": false,
        "DnsOverHttpsMode": "off",
        "QuicAllowed": false,
        "NetworkPredictionOptions": BLOCK,
        "SafeBrowsingProtectionLevel": 0,
        "SearchSuggestEnabled": false,
        "SpellcheckEnabled": false,
        "TranslateEnabled": false,
        "WebRtcIPHandling": "disable_non_proxied_udp",
        "AllowFileSelectionDialogs": false,
        "PrintingEnabled": false,
        "ExtensionInstallBlocklist": ["*"],
    })
}
