// Package wire turns values into the JSON that the journal keeps and programs
// read: lists are never null, and no text can control a terminal. It also
// rewrites every text of a value, so that secrets can be hidden first.
//
// It has no side effects and decides nothing. Journal and report build on it.
package wire
