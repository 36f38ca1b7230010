// Package bastion has the machine that holdfast runs on: its identity and its
// operator, IDs of runs and holds, the clock, commands that run here, and the
// passwords that are read or asked for here.
package bastion
