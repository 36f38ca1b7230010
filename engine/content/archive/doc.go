// Package archive reads ostree repositories in archive mode, in which commits are served over HTTP. It lists the
// objects of a commit, and checks without the ostree tool that they exist and are undamaged. The formats are described
// in ostree's manual (repository anatomy, "archive") and in the GVariant specification.
package archive
