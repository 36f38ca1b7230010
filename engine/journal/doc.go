// Package journal keeps the runs of a bastion: the journal of each, the lock
// that keeps two of a site apart, the identity of the bastion, and what the
// journals of earlier runs tell the next one. It decides which runs are over, so
// that their holds may be taken over, and which hosts may still be rebooting.
//
// It touches files of the bastion and nothing else, and shows nothing.
package journal
