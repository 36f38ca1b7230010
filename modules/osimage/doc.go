// Package osimage is the module that updates the OS of a host and its kernel
// arguments through ostree, rpm-ostree or bootc. It stages the OS while
// everything runs, reboots into it, and rolls back. Other modules use its reboot
// into the running OS.
package osimage
