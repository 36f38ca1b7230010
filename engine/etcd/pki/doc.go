// Package pki issues the certificates of a managed etcd cluster, and judges the
// certificates on its hosts. Keys are made on the hosts: the package gets only
// their certificate requests. It reads no clock and no file; callers pass the
// time, the randomness and the key of the CA.
package pki
