// Package report makes what people and programs see out of the events of a
// run: a live terminal, plain lines, JSON lines, and the tables
// of plan, status, holds and runs. Each is a fold over the same ordered
// stream, so that replaying a journal equals watching the run.
//
// It reads nothing from hosts and decides nothing. What a host said is
// untrusted: it is made printable before it reaches a terminal.
package report
