// Package osimage is the module that updates the OS of a host and its kernel
// arguments through ostree, rpm-ostree or bootc. It stages the OS while the
// services of the host keep running, reboots the host into the OS, and rolls
// back. Modules that only need a reboot use PlainReboot.
package osimage
