//! Which parts fit the budget? The best ones first, each at what it really costs: its own size, that of what it is in,
//! and the gaps that it opens or closes. Pure; must not know what makes a part good.

use super::parts::{Part, Parts, Whole};

/// Lines at the beginning and at the end of a text that are kept before anything else, if they are no longer than this.
const HEAD: usize = 3;
const TAIL: usize = 5;
const ENDS: usize = 240;
/// The share of the budget that they get, so that a small budget is not all ends.
const SHARE: usize = 5;

/// Which parts are kept, by group and place.
pub(super) struct Kept {
    pub(super) parts: Vec<Vec<bool>>,
    left: usize,
}

/// Chooses parts for a budget in bytes, by their scores.
pub(super) fn choose(parts: &Parts<'_>, scores: &[f32], budget: usize) -> Kept {
    let mut kept = Kept { parts: Vec::with_capacity(parts.groups.len()), left: budget };
    for group in &parts.groups {
        kept.parts.push(group.parts.iter().map(|part| matches!(part, Part::Always)).collect());
    }
    if let Some(root) = parts.groups.first() {
        kept.left = kept.left.saturating_sub(root.overhead + root.kind.gap());
    }
    let mut open: Vec<bool> = vec![false; parts.groups.len()];
    open.iter_mut().take(1).for_each(|root| *root = true);
    let mut order: Vec<usize> = (0..parts.leaves.len()).collect();
    let floor = kept.left - budget.min(kept.left) / SHARE;
    for leaf in ends(parts) {
        if kept.left > floor {
            kept.keep(parts, leaf, &mut open);
        }
    }
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    for leaf in order {
        kept.keep(parts, leaf, &mut open);
    }
    kept
}

/// The parts at the ends of what the result begins or ends with, the outermost first.
fn ends(parts: &Parts<'_>) -> Vec<usize> {
    let mut ends: Vec<(usize, usize)> =
        (0..parts.leaves.len()).filter_map(|leaf| Some((from_end(parts, leaf)?, leaf))).collect();
    ends.sort_unstable();
    ends.into_iter().map(|(_, leaf)| leaf).collect()
}

/// How far from an end a part stands, if it is near one. Long ones and those of nested texts are not.
fn from_end(parts: &Parts<'_>, leaf: usize) -> Option<usize> {
    let leaf = &parts.leaves[leaf];
    let group = &parts.groups[leaf.group];
    let near_root = group.parent.is_none_or(|(parent, _)| parts.groups[parent].parent.is_none());
    let last = group.parts.len() - 1 - leaf.index.min(group.parts.len() - 1);
    let is_near = leaf.index < HEAD || last < TAIL;
    (near_root && leaf.whole == Whole::Part && leaf.size <= ENDS && is_near).then(|| leaf.index.min(last))
}

impl Kept {
    /// Keeps one part if what it costs is left.
    fn keep(&mut self, parts: &Parts<'_>, leaf: usize, open: &mut [bool]) {
        let chosen = &parts.leaves[leaf];
        if self.parts[chosen.group].get(chosen.index) == Some(&true) && chosen.whole != Whole::Facts {
            return;
        }
        let mut cost = chosen.size as isize;
        let (mut group, mut index) = (chosen.group, chosen.index);
        let mut opened = Vec::new();
        let is_part = chosen.whole != Whole::Facts;
        loop {
            if is_part || group != chosen.group {
                cost += self.gap(parts, group, index);
            }
            if open[group] {
                break;
            }
            cost += (parts.groups[group].overhead + parts.groups[group].kind.gap()) as isize;
            opened.push((group, index));
            match parts.groups[group].parent {
                Some(parent) => (group, index) = parent,
                None => break,
            }
        }
        if cost > self.left as isize {
            return;
        }
        self.left = (self.left as isize - cost) as usize;
        if is_part {
            self.parts[chosen.group][chosen.index] = true;
        }
        for (group, _) in opened {
            open[group] = true;
            if let Some((parent, index)) = parts.groups[group].parent {
                self.parts[parent][index] = true;
            }
        }
    }

    /// What keeping this place adds to, or saves of, the gaps of its group.
    fn gap(&self, parts: &Parts<'_>, group: usize, index: usize) -> isize {
        let kept = &self.parts[group];
        if kept[index] {
            return 0;
        }
        let is_kept = |at: Option<usize>| at.and_then(|at| kept.get(at)).copied();
        // Beyond an end there is nothing that could be left out.
        let before = is_kept(index.checked_sub(1)).unwrap_or(true);
        let after = is_kept(Some(index + 1)).unwrap_or(true);
        let gap = parts.groups[group].kind.gap() as isize;
        match (before, after) {
            (true, true) => -gap,
            (false, false) => gap,
            (true, false) | (false, true) => 0,
        }
    }
}
