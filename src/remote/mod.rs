//! SSH: connections, commands, files, tunnels, and following a step.
