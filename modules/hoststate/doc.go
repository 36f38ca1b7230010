// Package hoststate is the module that gathers the facts of every host: its boot,
// clock, hold and units, signs of etcd, and the roll-outs that are recorded on
// the host. It changes nothing.
package hoststate
