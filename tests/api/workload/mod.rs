//! What the manager does inside a member cluster, against a real kube-apiserver. There are no
//! kubelets behind it: Nodes, the state of pods and the status of budgets are written by hand.

mod addons;
mod drain;
mod frozen;
mod nodes;
mod objects;
mod watch;
