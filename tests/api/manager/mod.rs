//! The manager as it is shipped, under its own rights, on a real management plane. Its hosts are addresses at
//! which nobody answers.

mod addons;
mod bmcs;
mod deletion;
mod endless;
mod foreign;
mod given;
mod gone;
mod installs;
mod leader;
mod packed;
mod paused;
mod process;
mod published;
mod reach;
mod turn;
mod world;
