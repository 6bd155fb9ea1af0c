//! Layer 2: how risky is this call in its circumstances? A number from 0 to 100 that factors add to and nothing takes
//! from. Pure.

use crate::registry::Tool;
use crate::registry::manifest::{Effect, RiskLevel};
use crate::rules::RiskSettings;
use std::sync::{Arc, LazyLock};

/// What the number comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Below 30, unless configuration says otherwise: runs.
    Low,
    /// Below 60: runs, and is written down before and after.
    Medium,
    /// From 60 on: a person decides.
    High,
}

impl Level {
    /// `low`, `medium` or `high`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Low => "low",
            Level::Medium => "medium",
            Level::High => "high",
        }
    }

    /// What some points come to.
    pub fn of(points: u8, settings: &RiskSettings) -> Level {
        match points {
            points if points < settings.medium_from => Level::Low,
            points if points < settings.high_from => Level::Medium,
            _ => Level::High,
        }
    }
}

/// One thing that adds to the risk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// Its id among the policies, or `base` or `effect`.
    pub id: Arc<str>,
    /// How much, in points.
    pub points: u8,
    /// Why, for the caller.
    pub reason: Arc<str>,
    /// What would take it away, for the operator.
    pub lower: Arc<str>,
}

/// The risk of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Risk {
    /// 0 to 100.
    pub points: u8,
    /// What that comes to.
    pub level: Level,
    /// What it is made of; factors without points are left out.
    pub factors: Vec<Factor>,
}

/// What tools and effects add by themselves; configuration says how much.
struct Constant {
    base: [Factor; 4],
    effect: [Factor; 3],
}

static CONSTANT: LazyLock<Constant> = LazyLock::new(|| {
    let base =
        |risk: &str| Factor::new("base", 0, format!("the tool's base risk is {risk}"), "a tool of lower base risk");
    let effect = |what: &str| Factor::new("effect", 0, what, "a tool that only reads");
    Constant {
        base: [base("low"), base("medium"), base("high"), base("critical")],
        effect: ["the call reads", "the call changes something", "the call can destroy something"].map(effect),
    }
});

/// What a call's base and effect come to, and the factors that hold.
pub(super) fn score(tool: &Tool, effect: Effect, settings: &RiskSettings, adds: impl Iterator<Item = Factor>) -> Risk {
    let (base, of_base) = match tool.risk_level {
        RiskLevel::Low => (settings.base.low, &CONSTANT.base[0]),
        RiskLevel::Medium => (settings.base.medium, &CONSTANT.base[1]),
        RiskLevel::High => (settings.base.high, &CONSTANT.base[2]),
        RiskLevel::Critical => (settings.base.critical, &CONSTANT.base[3]),
    };
    let (effect, of_effect) = match effect {
        Effect::Read => (settings.effect.read, &CONSTANT.effect[0]),
        Effect::Write => (settings.effect.write, &CONSTANT.effect[1]),
        Effect::Destructive => (settings.effect.destructive, &CONSTANT.effect[2]),
    };
    let constant = [(base, of_base), (effect, of_effect)].into_iter().filter(|(points, _)| *points > 0);
    let constant = constant.map(|(points, factor)| Factor { points, ..factor.clone() });
    let mut factors: Vec<Factor> = Vec::new();
    for factor in constant.chain(adds).filter(|factor| factor.points > 0) {
        // Several steps of one thing are said once.
        match factors.iter_mut().find(|known| known.reason == factor.reason) {
            Some(known) => known.points = known.points.saturating_add(factor.points),
            None => factors.push(factor),
        }
    }
    let sum: u32 = factors.iter().map(|factor| u32::from(factor.points)).sum();
    let points = sum.min(100) as u8;
    Risk { points, level: Level::of(points, settings), factors }
}

impl Factor {
    /// One factor.
    pub(super) fn new(
        id: impl Into<Arc<str>>,
        points: u8,
        reason: impl Into<Arc<str>>,
        lower: impl Into<Arc<str>>,
    ) -> Factor {
        Factor { id: id.into(), points, reason: reason.into(), lower: lower.into() }
    }
}
