// Package journal keeps the runs of a bastion: the journal of each run, the
// lock that prevents two runs of one site, the identity of the bastion, and the
// history that the next run reads. It decides which runs are over, so that the
// next run may adopt their holds, and which hosts may still be rebooting.
//
// The package uses only files of the bastion, and prints nothing.
package journal
