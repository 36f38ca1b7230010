// Package tasks has the modules of a play: those that make a host match as far
// as the play has tasks for that, and those that carry out the other tasks once
// on each host.
package tasks
