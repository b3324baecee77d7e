//! Words of messages.

use core::fmt::Display;

/// A number of things, each of which is called `one`: "1 Machine", "2 Machines".
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, one: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {one}{ending}")
}

/// A command of kubectl for a workload cluster, whose kubeconfig nobody may have at hand.
pub fn in_workload(namespace: &str, cluster: &str, command: &str) -> String {
    format!("kubectl --kubeconfig <(tatara kubeconfig {cluster} -n {namespace}) {command}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one_and_all_other_numbers_are_many() {
        let said = [0, 1, 2].map(|count| counted(count, "worker"));
        assert_eq!(said, ["0 workers", "1 worker", "2 workers"]);
    }
}
