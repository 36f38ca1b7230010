// Package membership decides how an etcd cluster gets from the members that it has to the members that it should have.
// Next returns the next step, or the reason why there must be none. Nothing is remembered between two steps except the
// records on hosts: after each step, and after a crash, the state is gathered again and Next decides again.
//
// The rules: a cluster grows before it shrinks. One member changes at a time, and there is never a second learner. A
// voter is removed only if its host is retired, if it is proven to be dead, or if a person names it. Nothing is inferred
// from a host that is missing or does not answer.
package membership
