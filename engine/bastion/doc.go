// Package bastion represents the machine that holdfast runs on: its identity
// and its operator, IDs of runs and holds, the clock, commands that run on it,
// and the passwords that it reads or asks for.
package bastion
