// Package report turns the events of a run into output for people and programs.
// It has the sinks of events, redaction and JSON. The packages below it are the
// views: plan, tables, lines, live status and summary. All views read the same
// ordered stream, so a replayed journal shows the same as the run. The tests of
// all views are here, with their golden files.
//
// The package reads nothing from hosts and decides nothing. Text from hosts is
// untrusted, and is made printable before it reaches a terminal.
package report
