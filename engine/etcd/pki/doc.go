// Package pki issues the certificates of a managed etcd cluster, and finds what
// is on its hosts. Keys are made on the hosts: it sees only their certificate
// requests. It reads no clock and no file; randomness and the key of the CA are
// given to it.
package pki
