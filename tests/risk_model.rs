//! Does the risk of a call come out as the specification says? A model of it in a hundred lines, which knows nothing of
//! policies, against the runtime on random calls; and what must hold of any risk.

use hermes_runtime::call::{Call, Caller, Digest, Judged, Mode, Situation};
use hermes_runtime::config::Config;
use hermes_runtime::permission::explain::{Explanation, Outcome, explain};
use hermes_runtime::permission::policy::Policies;
use hermes_runtime::permission::target::path::Places;
use hermes_runtime::record::History;
use hermes_runtime::registry::admin::{self, Around, ManifestText};
use hermes_runtime::registry::{self, Registry};
use hermes_runtime::rules::LabelRule;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

const LEVELS: [(&str, u32); 4] = [("low", 0), ("medium", 10), ("high", 25), ("critical", 60)];
const EFFECTS: [(&str, u32); 3] = [("read", 0), ("write", 10), ("destructive", 20)];
const APPROVALS: [&str; 3] = ["true", "false", "\"always\""];
/// Labels with the points that they add.
const LABELS: [(&str, u32); 12] = [
    ("workspace", 0),
    ("test", 0),
    ("production", 10),
    ("production_configuration", 35),
    ("policy", 60),
    ("credentials", 60),
    ("unreadable", 60),
    ("public", 0),
    ("internal", 0),
    ("personal", 20),
    ("financial", 30),
    ("secret", 40),
];

/// One call, as far as its risk goes.
#[derive(Clone, Debug)]
struct Case {
    level: usize,
    effect: usize,
    approval: usize,
    open_world: bool,
    labels: Vec<bool>,
    workflow: bool,
    purpose: bool,
    explores: bool,
    high: u8,
    denials: u8,
    tainted: bool,
    operator: bool,
}

/// What the specification says: points and what becomes of the call.
fn model(case: &Case) -> (u32, Outcome) {
    let has = |label: &str| LABELS.iter().zip(&case.labels).any(|((name, _), there)| *name == label && *there);
    let mut points = LEVELS[case.level].1 + EFFECTS[case.effect].1;
    points += LABELS.iter().zip(&case.labels).filter(|(_, there)| **there).map(|((_, points), _)| points).sum::<u32>();
    points += if case.workflow { 0 } else { 8 };
    points += if case.purpose { 0 } else { 5 };
    points += if case.explores { 10 } else { 0 };
    // The targets here are names, so no call is a workspace read and history always counts.
    points += 4 * u32::from(case.high).min(6);
    points += 3 * u32::from(case.denials.saturating_sub(1)).min(4);
    points += if case.tainted && (case.effect > 0 || case.open_world) { 10 } else { 0 };
    let _ = has;
    let points = points.min(100);
    let asks = points >= 60 || case.operator || APPROVALS[case.approval] == "\"always\"";
    let outcome = match (APPROVALS[case.approval], points >= 60, asks) {
        ("false", true, _) => Outcome::Denied,
        (_, _, true) => Outcome::Asks,
        (_, _, false) => Outcome::Runs,
    };
    (points, outcome)
}

struct World {
    registry: Registry,
    policies: Policies,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let mut manifests = Vec::new();
    for (level, _) in LEVELS {
        for (effect, _) in EFFECTS {
            for (number, approval) in APPROVALS.iter().enumerate() {
                for open in [true, false] {
                    let text = format!(
                        "[tool]\nname = \"{level}_{effect}_{number}_{open}\"\nversion = \"1.0.0\"\ndescription = \"d\"\n\
                         permissions = {{ required_roles = [\"R\", \"operator\"], risk_level = \"{level}\", requires_approval = {approval} }}\n\
                         effect = {{ kind = \"{effect}\", open_world = {open} }}\n\
                         target = {{ argument = \"on\", syntax = \"name\" }}\n\
                         backend = {{ type = \"custom\", adapter = \"a\" }}\n\
                         [[tool.inputs]]\nname = \"on\"\ntype = \"string\"\nrequired = true\n"
                    );
                    manifests.push(ManifestText { file: "t.toml".into(), text, built_in: None });
                }
            }
        }
    }
    let around = Around { completions: &BTreeMap::new(), reasons: &BTreeMap::new(), out: &BTreeMap::new() };
    let (entries, faults) = admin::parse(&manifests, &around);
    assert!(faults.is_empty(), "{faults:?}");
    let (registry, faults) = admin::assemble(entries, &around);
    assert!(faults.is_empty(), "{faults:?}");
    let mut config = Config::new("/s", "/c");
    config.labels = LABELS
        .iter()
        .map(|(label, _)| LabelRule {
            target: format!("*+{label}+*"),
            syntax: None,
            tool: None,
            labels: vec![(*label).to_owned()],
        })
        .collect();
    let policies = Policies::load(&config, &registry).unwrap();
    World { registry, policies }
});

fn judge(case: &Case) -> Explanation {
    let world = &*WORLD;
    let name = format!("{}_{}_{}_{}", LEVELS[case.level].0, EFFECTS[case.effect].0, case.approval, case.open_world);
    let labels = LABELS.iter().zip(&case.labels).filter(|(_, there)| **there).map(|((name, _), _)| *name);
    let on = labels.map(|label| format!("+{label}+")).collect::<String>();
    let value = json!({ "on": if on.is_empty() { "nothing".into() } else { on } });
    let canonical: Arc<str> = value.to_string().into();
    let judged = Judged {
        digest: Digest::of(canonical.as_bytes()),
        canonical,
        value: Arc::new(value),
        repairs: Vec::new().into(),
        timeout: None,
    };
    let situation = Situation {
        workflow: case.workflow.then(|| "w".into()),
        purpose: case.purpose.then(|| "p".into()),
        mode: if case.explores { Mode::Explore } else { Mode::Workflow },
        task: Some("a task that begs for a low risk".into()),
    };
    let role = if case.operator { "operator" } else { "R" };
    let call = Call::new(name.as_str(), Value::Null)
        .caller(Arc::new(Caller { id: "c".into(), role: role.into() }))
        .situation(Arc::new(situation));
    let tool = registry::lookup(&world.registry, &name, role).unwrap();
    let history = History { high: case.high, denials: case.denials, tainted: case.tainted, halted: false };
    explain(&call, tool, &judged, &Places::default(), &world.policies, history, |_| false)
}

fn case() -> impl Strategy<Value = Case> {
    let shape = (0..4usize, 0..3usize, 0..3usize, any::<bool>(), prop::collection::vec(prop::bool::weighted(0.15), 12));
    let around =
        (any::<bool>(), any::<bool>(), any::<bool>(), 0..=10u8, 0..=8u8, any::<bool>(), prop::bool::weighted(0.1));
    (shape, around).prop_map(|((level, effect, approval, open_world, labels), around)| {
        let (workflow, purpose, explores, high, denials, tainted, operator) = around;
        Case {
            level,
            effect,
            approval,
            open_world,
            labels,
            workflow,
            purpose,
            explores,
            high,
            denials,
            tainted,
            operator,
        }
    })
}

/// The same call with one more thing that makes it riskier.
fn riskier(case: &Case, which: usize) -> Case {
    let mut case = case.clone();
    match which {
        0 => case.level = (case.level + 1).min(3),
        1 => case.effect = (case.effect + 1).min(2),
        2 => case.workflow = false,
        3 => case.purpose = false,
        4 => case.explores = true,
        5 => case.high = (case.high + 1).min(10),
        6 => case.denials += 1,
        7 => case.tainted = true,
        8 => case.open_world = true,
        label => case.labels[(label - 9) % 12] = true,
    }
    case
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_model_agrees_on_random_calls(case in case()) {
        let (points, outcome) = model(&case);
        let explained = judge(&case);
        prop_assert_eq!((explained.risk.map(u32::from), explained.outcome), (Some(points), outcome), "{:?}", explained);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn more_to_fear_never_lowers_a_risk_and_none_is_above_100(case in case(), which in 0..21usize) {
        let (less, more) = (judge(&case), judge(&riskier(&case, which)));
        prop_assert!(less.risk <= more.risk && more.risk <= Some(100), "{:?} {:?}", less, more);
        if case.approval != 1 {
            prop_assert!(less.outcome <= more.outcome, "{:?} {:?}", less, more);
        }
    }

    #[test]
    fn the_same_call_has_the_same_risk(case in case()) {
        prop_assert_eq!(judge(&case), judge(&case));
    }
}
