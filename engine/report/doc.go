// Package report turns the events of a run into output for people and
// programs: a live terminal, plain lines, JSON lines, and the tables of plan,
// status, holds and runs. All of them read the same ordered stream, so that
// replaying a journal shows the same as watching the run.
//
// It reads nothing from hosts and decides nothing. Text from hosts is
// untrusted, and is made printable before it reaches a terminal.
package report
