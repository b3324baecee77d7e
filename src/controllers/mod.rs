//! One folder per kind; each reads observe, plan, execute, report.
