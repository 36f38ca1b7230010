// Package archive reads ostree repositories in archive mode, the form in which commits are served over HTTP. It lists the objects
// of a commit, and checks that they are there and undamaged, without the ostree tool. The formats are described in ostree's
// manual (repository anatomy, "archive") and in the GVariant specification.
package archive
