//! Which of a tool's backends takes a call? By health, then by what was observed of success and latency; now and then
//! another one, so that what is known of it does not grow old. Pure; must not know what a backend says of itself.

use super::health::{Health, Standing};
use serde::{Deserialize, Serialize};

/// Every so many calls of a tool another backend than the best is asked.
const EXPLORE: u64 = 20;
/// A backend that takes this long gets half of what speed can give.
const USUAL_MS: f64 = 1000.0;
/// How much of a score is speed.
const SPEED: f64 = 0.3;
/// Another backend has to be so much better until it is taken before the one that its author prefers.
const CLEARLY: f64 = 1.05;

/// Why a backend was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It is the first in the manifest, and none is clearly better.
    Preferred,
    /// It works clearly better than those before it.
    Better,
    /// Those before it are unhealthy.
    OthersUnhealthy,
    /// It was unhealthy and may work again; this call tries it.
    Trial,
    /// So that what is known of it does not grow old.
    Explored,
}

/// The order in which backends are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Their places, the chosen one first. Those that cannot be asked are not among them.
    pub order: Vec<usize>,
    /// Why the first is first.
    pub why: Why,
}

/// Chooses among backends; nothing if none can be asked. `turn` counts the calls of the tool.
pub fn choose(standings: &[Standing], turn: u64) -> Option<Choice> {
    let usable = |standing: &Standing| standing.health != Health::Unhealthy && !standing.on_trial;
    let places: Vec<usize> = (0..standings.len()).filter(|place| usable(&standings[*place])).collect();
    let is_trial = |place: &usize| standings[*place].health == Health::HalfOpen;
    let healthy: Vec<usize> = places.iter().copied().filter(|place| !is_trial(place)).collect();
    let mut ranked = ranked(&healthy, standings);
    // One that may work again is tried before the others, by one call at a time.
    if let Some(trial) = places.iter().copied().find(is_trial) {
        ranked.retain(|place| *place != trial);
        ranked.insert(0, trial);
        return Some(Choice { order: ranked, why: Why::Trial });
    }
    let first = *ranked.first()?;
    let least_known = ranked[1..].iter().copied().min_by_key(|place| standings[*place].calls);
    if let Some(other) = least_known.filter(|_| turn.is_multiple_of(EXPLORE)) {
        ranked.retain(|place| *place != other);
        ranked.insert(0, other);
        return Some(Choice { order: ranked, why: Why::Explored });
    }
    let why = match first {
        0 => Why::Preferred,
        _ if (0..first).all(|place| standings[place].health != Health::Healthy) => Why::OthersUnhealthy,
        _ => Why::Better,
    };
    Some(Choice { order: ranked, why })
}

/// Places by what was observed. One stays before another one that its author put after it unless that one is clearly
/// better.
fn ranked(places: &[usize], standings: &[Standing]) -> Vec<usize> {
    let mut left = places.to_vec();
    let mut ranked = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let best = left.iter().map(|place| score(&standings[*place])).fold(0.0, f64::max);
        let next = left.iter().position(|place| score(&standings[*place]) * CLEARLY >= best).unwrap_or(0);
        ranked.push(left.remove(next));
    }
    ranked
}

/// How good a backend is, 0 to 1.
pub fn score(standing: &Standing) -> f64 {
    let speed = standing.latency_ms.map_or(1.0, |ms| USUAL_MS / (USUAL_MS + ms));
    standing.success * (1.0 - SPEED + SPEED * speed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(health: Health, success: f64, latency_ms: f64) -> Standing {
        Standing { health, on_trial: false, success, latency_ms: Some(latency_ms), calls: 10 }
    }

    fn check(standings: &[Standing], turn: u64, expect: Option<(&[usize], Why)>) {
        let expect = expect.map(|(order, why)| Choice { order: order.to_vec(), why });
        assert_eq!(choose(standings, turn), expect, "{standings:?}");
    }

    #[test]
    fn health_comes_first_and_then_what_was_observed() {
        use Health::{HalfOpen, Healthy, Unhealthy};
        let good = standing(Healthy, 1.0, 5.0);
        check(&[good, good], 1, Some((&[0, 1], Why::Preferred)));
        check(&[standing(Healthy, 0.98, 5.0), good], 1, Some((&[0, 1], Why::Preferred)));
        check(&[standing(Healthy, 0.5, 5.0), good], 1, Some((&[1, 0], Why::Better)));
        check(&[standing(Healthy, 1.0, 3000.0), good], 1, Some((&[1, 0], Why::Better)));
        check(&[standing(Unhealthy, 1.0, 5.0), standing(Healthy, 0.1, 900.0)], 1, Some((&[1], Why::OthersUnhealthy)));
        check(&[standing(HalfOpen, 0.1, 5.0), good], 1, Some((&[0, 1], Why::Trial)));
        let on_trial = Standing { on_trial: true, ..standing(HalfOpen, 0.1, 5.0) };
        check(&[on_trial, good], 1, Some((&[1], Why::OthersUnhealthy)));
        check(&[standing(Unhealthy, 1.0, 5.0)], 1, None);
    }

    #[test]
    fn now_and_then_the_least_known_one_is_asked() {
        let good = standing(Health::Healthy, 1.0, 5.0);
        let unknown = Standing { calls: 1, ..good };
        check(&[good, good, unknown], EXPLORE, Some((&[2, 0, 1], Why::Explored)));
        check(&[good], EXPLORE, Some((&[0], Why::Preferred)));
        let sick = Standing { calls: 0, ..standing(Health::Unhealthy, 1.0, 5.0) };
        check(&[good, sick], EXPLORE, Some((&[0], Why::Preferred)));
    }
}
