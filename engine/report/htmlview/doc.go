// Package htmlview makes one HTML page of a run. The page needs no network and
// no script: its styles and drawings are in the file, and its
// Content-Security-Policy allows nothing from outside.
//
// The package folds over the events of a run, like package summary, and takes
// all sums from it. It keeps no event, so its memory grows with the number of
// hosts and not with the length of the journal.
package htmlview
