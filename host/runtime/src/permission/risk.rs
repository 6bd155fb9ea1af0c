//! Layer 2: how risky is this call in its circumstances? A number from 0 to 100 that factors add to and nothing takes
//! from. Pure.

use super::target::Target;
use crate::call::{Mode, Situation};
use crate::registry::Tool;
use crate::registry::manifest::{Effect, RiskLevel};

/// What the number comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Below 30: runs.
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

    fn of(points: u8) -> Level {
        match points {
            0..30 => Level::Low,
            30..60 => Level::Medium,
            _ => Level::High,
        }
    }
}

/// One thing that adds to the risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    /// How much, in points.
    pub points: u8,
    /// Why, for the caller.
    pub reason: &'static str,
    /// What would take it away, for the operator.
    pub lower: &'static str,
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

const fn factor(points: u8, reason: &'static str, lower: &'static str) -> Factor {
    Factor { points, reason, lower }
}

const BASE_MEDIUM: Factor = factor(10, "the tool's base risk is medium", "a tool of lower base risk");
const BASE_HIGH: Factor = factor(25, "the tool's base risk is high", "a tool of lower base risk");
const BASE_CRITICAL: Factor = factor(60, "the tool's base risk is critical", "a tool of lower base risk");
const WRITES: Factor = factor(10, "the call changes something", "a tool that only reads");
const DESTROYS: Factor = factor(20, "the call can destroy something", "a tool that only reads");
const NO_WORKFLOW: Factor = factor(8, "no workflow is active", "a call within a workflow");
const NO_PURPOSE: Factor = factor(5, "no purpose is stated", "a stated purpose");
const UNREADABLE: Factor = factor(60, "what the call acts on cannot be judged", "arguments that can be read");
const EXPLORES: Factor = factor(10, "the agent explores", "the mode `workflow`");

/// Adds up what is known about a call. `effect` is what this call does, which may be less than its tool can do.
pub fn score(tool: &Tool, effect: Effect, targets: &[Target], situation: &Situation) -> Risk {
    let base = match tool.risk_level {
        RiskLevel::Low => None,
        RiskLevel::Medium => Some(BASE_MEDIUM),
        RiskLevel::High => Some(BASE_HIGH),
        RiskLevel::Critical => Some(BASE_CRITICAL),
    };
    let unreadable = targets.iter().any(|target| matches!(target, Target::Unreadable(_))).then_some(UNREADABLE);
    let effect = match effect {
        Effect::Read => None,
        Effect::Write => Some(WRITES),
        Effect::Destructive => Some(DESTROYS),
    };
    let workflow = situation.workflow.is_none().then_some(NO_WORKFLOW);
    let purpose = situation.purpose.is_none().then_some(NO_PURPOSE);
    let mode = (situation.mode == Mode::Explore).then_some(EXPLORES);
    let factors: Vec<Factor> = [base, effect, unreadable, workflow, purpose, mode].into_iter().flatten().collect();
    let sum: u32 = factors.iter().map(|factor| u32::from(factor.points)).sum();
    let points = sum.min(100) as u8;
    Risk { points, level: Level::of(points), factors }
}
