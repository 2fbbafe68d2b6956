//! Benchmarks of Semel as ratios against raw baselines
