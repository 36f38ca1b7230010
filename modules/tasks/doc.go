// Package tasks has the modules of a play. Some make a host match its desired
// state, as far as the play has tasks for this. The others carry out the
// remaining tasks, once on each host.
package tasks
