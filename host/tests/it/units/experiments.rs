mod claims;
mod demo;
mod learning;
mod statistics;
mod verify;
