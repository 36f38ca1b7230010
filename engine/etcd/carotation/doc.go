// Package carotation decides how the CA of an etcd cluster is replaced, in three steps: all members trust the old and the
// new CA; all certificates are issued again; no member trusts the old CA. The next step depends only on the state of the
// hosts. So the next run can continue after a killed run, from any bastion, or go back to the old CA.
package carotation
