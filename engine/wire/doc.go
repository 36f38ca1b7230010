// Package wire turns values into the JSON that the journal keeps and programs
// read: lists are never null, and no text can control a terminal. Package wire
// also rewrites every text of a value, so that secrets can be hidden first.
//
// The package has no side effects and decides nothing. Packages journal and
// report use it.
package wire
