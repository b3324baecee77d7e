//! The clusters that we made: client, nodes, drain, health.
