// Package nodefiles checks the files that the programs of a Kubernetes node read: the kubelet, CRI-O and containerd.
// A value of a wrong type is an error, because the program does not start with it. An unknown field is a warning: the
// program ignores it, or is newer than the tables of this package.
package nodefiles
