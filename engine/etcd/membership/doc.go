// Package membership decides how an etcd cluster gets from its present members to the wanted members. Next returns the
// next step, or the reason why there must be none. Between two steps, only the records on hosts remain: after each step,
// and after a crash, the caller gathers the state again, and Next decides again.
//
// The rules: a cluster grows before it shrinks. One member changes at a time, and there is never a second learner. A
// voter is removed only if its host is retired, if it is proven to be dead, or if a person names it. A host that is not
// in the inventory, or does not answer, proves nothing.
package membership
