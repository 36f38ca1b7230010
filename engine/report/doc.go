// Package report turns the events of a run into output for people and
// programs. It has the sinks of events, redaction and JSON; the views are in
// packages below it: plan, tables, lines, live status and summary. All of them
// read the same ordered stream, so that replaying a journal shows the same as
// watching the run. The tests of all views are here, with their golden files.
//
// It reads nothing from hosts and decides nothing. Text from hosts is
// untrusted, and is made printable before it reaches a terminal.
package report
