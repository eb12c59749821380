//! `hodo top`: what this machine and the run on it do now.
mod history;
mod model;
mod ui;
mod view;
