//! A cache of replays: the visits that follow from choices.
//!
//! The same choices of states, cycle by cycle, lead to the same states of pages. So choices are
//! kept as a tree, each with its number of visits and changes. A repeated choice gets its result
//! without looking at a page.

use super::WantedFigures;
use super::states::Move;
use crate::CycleFigures;
use recrawl_types::Reads;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One cycle of some replay.
#[derive(Debug)]
pub(super) struct CycleStep {
    /// The rows chosen.
    pub choice: Box<[u32]>,
    /// The moves with their destinations.
    pub moves: Box<[Move]>,
    /// The figures of the cycle.
    pub figures: CycleFigures,
}

impl CycleStep {
    /// From the choice and its results.
    pub fn new(choice: &[u32], moves: &[Move], figures: CycleFigures) -> CycleStep {
        CycleStep { choice: choice.into(), moves: moves.into(), figures }
    }
}

/// A node of the tree: the state of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeNode {
    epoch: u32,
    node: u32,
}

/// The tree of choices. When it exceeds its limit it is emptied: the current population fills it
/// again, and what only its ancestors needed is gone.
#[derive(Debug)]
pub(super) struct ChoiceTree {
    limit: usize,
    tree: Mutex<Tree>,
}

#[derive(Debug, Default)]
struct Tree {
    epoch: u32,
    bytes: usize,
    roots: HashMap<(Reads, WantedFigures), u32, BuildHasherDefault<Mixer>>,
    children: HashMap<(u32, u64), u32, BuildHasherDefault<Mixer>>,
    /// The step that leads to each node; `None` for roots.
    steps: Vec<Option<Arc<CycleStep>>>,
    /// The nodes to which choices led last from each node; 0, a root, for none.
    recent: Vec<[u32; RECENT]>,
}

/// How many steps from a node are tried before a choice is made.
const RECENT: usize = 3;

impl ChoiceTree {
    /// An empty tree with a limit in bytes.
    pub fn new(limit: usize) -> ChoiceTree {
        ChoiceTree { limit, tree: Mutex::default() }
    }

    /// The node after the warm-up; `None` if the cache is off.
    pub fn start(&self, reads: Reads, wants: WantedFigures) -> Option<TreeNode> {
        let mut tree = self.tree();
        if self.limit == 0 {
            return None;
        }
        let Tree { roots, steps, recent, epoch, .. } = &mut *tree;
        let node = *roots.entry((reads, wants)).or_insert_with(|| {
            steps.push(None);
            recent.push([0; RECENT]);
            steps.len() as u32 - 1
        });
        Some(TreeNode { epoch: *epoch, node })
    }

    /// One of the steps that choices led to last from here, if this is true of its choice.
    pub fn recent(
        &self,
        place: TreeNode,
        is_it: impl Fn(&[u32]) -> bool,
    ) -> Option<(TreeNode, Arc<CycleStep>)> {
        let tree = self.tree();
        let nodes = *tree.recent.get(place.node as usize).filter(|_| place.epoch == tree.epoch)?;
        let steps = nodes.map(|node| tree.steps[node as usize].clone());
        drop(tree);
        let mut known = nodes.into_iter().zip(steps).filter_map(|(node, step)| Some((node, step?)));
        let (node, step) = known.find(|(_, step)| is_it(&step.choice))?;
        Some((TreeNode { node, ..place }, step))
    }

    /// The result of a choice, if cached.
    pub fn follow(&self, place: TreeNode, choice: &[u32]) -> Option<(TreeNode, Arc<CycleStep>)> {
        let hash = hash(choice);
        let mut tree = self.tree();
        if place.epoch != tree.epoch {
            return None;
        }
        let node = *tree.children.get(&(place.node, hash))?;
        let step = tree.steps[node as usize].clone()?;
        tree.recent[place.node as usize].rotate_right(1);
        tree.recent[place.node as usize][0] = node;
        (*step.choice == *choice).then_some((TreeNode { node, ..place }, step))
    }

    /// Caches a step and returns its node; `None` if the tree was emptied since `place` was
    /// obtained.
    pub fn remember(&self, place: TreeNode, step: CycleStep) -> Option<TreeNode> {
        let key = (place.node, hash(&step.choice));
        let bytes = bytes(&step);
        let mut tree = self.tree();
        if place.epoch != tree.epoch {
            return None;
        }
        if tree.bytes + bytes > self.limit {
            *tree = Tree { epoch: tree.epoch.wrapping_add(1), ..Tree::default() };
            return None;
        }
        tree.bytes += bytes;
        let node = tree.steps.len() as u32;
        tree.steps.push(Some(Arc::new(step)));
        tree.recent.push([0; RECENT]);
        tree.recent[place.node as usize].rotate_right(1);
        tree.recent[place.node as usize][0] = node;
        // Another thread may have inserted it first; its node then becomes unreachable.
        tree.children.insert(key, node);
        Some(TreeNode { node, ..place })
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.tree().bytes
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        // Every change of the tree is complete before anything can panic.
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Size of a step in bytes, with its entries in the tables, which may be half empty.
fn bytes(step: &CycleStep) -> usize {
    const TABLES: usize = 2 * (size_of::<((u32, u64), u32)>() + size_of::<Option<Arc<CycleStep>>>());
    size_of::<CycleStep>() + 16 + 4 * step.choice.len() + size_of_val(&*step.moves) + TABLES
}

fn hash(choice: &[u32]) -> u64 {
    let mut mixer = Mixer::default();
    // Without the length, row 0 before other rows would not change the hash.
    mixer.write_u64(choice.len() as u64);
    choice.iter().for_each(|&row| mixer.write_u32(row));
    mixer.finish()
}

/// A fast hash of words, used only for table look-ups.
#[derive(Default)]
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        // 2⁶⁴ divided by the golden ratio, made odd.
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every choice of up to four of six rows has a node of its own.
    #[test]
    fn choices_that_differ_by_a_row_are_remembered_beside_each_other() {
        let memo = ChoiceTree::new(1 << 20);
        let root = memo.start(Reads::default(), WantedFigures::ALL).unwrap();
        let of = |rows, number| (0..rows).map(|i| number / 6u32.pow(i) % 6).collect();
        let choices: Vec<Vec<u32>> =
            (1..=4).flat_map(|rows| (0..6u32.pow(rows)).map(move |number| of(rows, number))).collect();
        for choice in &choices {
            memo.remember(root, CycleStep::new(choice, &[], CycleFigures::default())).unwrap();
        }
        let known = choices.iter().filter(|choice| memo.follow(root, choice).is_some()).count();
        assert_eq!(known, choices.len());
    }
}
