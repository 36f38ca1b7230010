// Package rotation decides how the CA of an etcd cluster is replaced, in three steps: all members trust the old and the
// new one; all certificates are issued anew; the old one is dropped. Which step is next follows from the hosts alone, so
// that a run that died is continued by the next, by another bastion, or by a run that goes back to the old CA.
package rotation
