//! The transitions without a fault, and their bottom components: what is never left any more.

/// States and transitions by number.
#[derive(Default)]
pub struct Graph {
    edges: Vec<(u32, u32)>,
    expanded: Vec<u32>,
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or_default()
}

impl Graph {
    pub fn add(&mut self, edges: &[(u32, u32)]) {
        self.edges
            .extend(edges.iter().filter(|(from, to)| from != to));
    }

    /// These states have all their transitions.
    pub fn expanded(&mut self, states: impl Iterator<Item = u32>) {
        self.expanded.extend(states);
    }

    /// A state of each bottom component, of those whose states all have their transitions: Tarjan's algorithm, without recursion.
    pub fn bottoms(mut self, count: usize) -> Vec<u32> {
        self.edges.sort_unstable();
        self.edges.dedup();
        let mut first = vec![0_usize; count + 1];
        for (from, _) in &self.edges {
            first[index(*from) + 1] += 1;
        }
        for at in 0..count {
            first[at + 1] += first[at];
        }
        let mut is_expanded = vec![false; count];
        for state in &self.expanded {
            is_expanded[index(*state)] = true;
        }
        let components = components(&self.edges, &first, count);
        let all = components.iter().max().map_or(0, |last| index(*last) + 1);
        let mut is_bottom = vec![true; all];
        let mut one_of = vec![None; all];
        for state in 0..count {
            let own = index(components[state]);
            let leaves = self.edges[first[state]..first[state + 1]]
                .iter()
                .any(|(_, to)| index(components[index(*to)]) != own);
            is_bottom[own] &= is_expanded[state] && !leaves;
            one_of[own] = one_of[own].or(u32::try_from(state).ok());
        }
        let bottoms = one_of.into_iter().zip(is_bottom);
        bottoms
            .filter_map(|(state, is_bottom)| state.filter(|_| is_bottom))
            .collect()
    }
}

/// The component of each state.
fn components(edges: &[(u32, u32)], first: &[usize], count: usize) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let (mut order, mut low) = (vec![NONE; count], vec![NONE; count]);
    let mut component = vec![NONE; count];
    let (mut stack, mut calls) = (Vec::new(), Vec::<(usize, usize)>::new());
    let (mut next, mut found) = (0_u32, 0_u32);
    for root in 0..count {
        if order[root] != NONE {
            continue;
        }
        calls.push((root, first[root]));
        while let Some((state, edge)) = calls.pop() {
            if edge == first[state] && order[state] == NONE {
                (order[state], low[state]) = (next, next);
                next += 1;
                stack.push(state);
            }
            if edge < first[state + 1] {
                let to = index(edges[edge].1);
                calls.push((state, edge + 1));
                if order[to] == NONE {
                    calls.push((to, first[to]));
                } else if component[to] == NONE {
                    low[state] = low[state].min(order[to]);
                }
                continue;
            }
            if low[state] == order[state] {
                while let Some(member) = stack.pop() {
                    component[member] = found;
                    if member == state {
                        break;
                    }
                }
                found += 1;
            }
            if let Some((caller, _)) = calls.last() {
                low[*caller] = low[*caller].min(low[state]);
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_never_left_is_found_and_what_was_not_looked_at_is_not_said_to_be_so() {
        // 0 leads to a circle of 1 and 2, and to 3 and 4, of which 4 was not looked at
        let mut graph = Graph::default();
        graph.add(&[(0, 1), (1, 2), (2, 1), (0, 3), (0, 4), (0, 0)]);
        graph.expanded([0, 1, 2, 3].into_iter());
        let mut bottoms = graph.bottoms(5);
        bottoms.sort_unstable();
        assert_eq!(bottoms, [1, 3]);
    }

    #[test]
    fn a_circle_that_leads_on_is_no_bottom() {
        let mut graph = Graph::default();
        graph.add(&[(0, 1), (1, 0), (1, 2)]);
        graph.expanded([0, 1, 2].into_iter());
        assert_eq!(graph.bottoms(3), [2]);
    }
}
