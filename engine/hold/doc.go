// Package hold keeps the holds of hosts: it takes, extends, reads, checks and ends them, by scripts of engine/hostscript.
// Roll-outs, changes of etcd members and people use the same Keeper, so each hold follows the same rules. A Keeper does
// not decide whether a hold is allowed.
package hold
