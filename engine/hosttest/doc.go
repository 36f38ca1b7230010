// Package hosttest has hosts and etcd clusters that exist only in memory, as
// net/http/httptest has servers. A Site is the world: hosts that stage, hold,
// write, reboot and break as they are told, and clusters whose health follows from
// them. A Bastion is where one run happens: it is everything that
// engine/rollout asks for, and it can be killed at any point.
//
// A site watches the laws that no run may break, whatever happens to it, and
// keeps a log of what was done: see Site.Violations.
//
// Time is that of package time, so that contexts with a deadline obey it too.
// Tests run inside a bubble of testing/synctest, where time passes only while
// everybody waits: twenty minutes of waiting for a host take none, several
// goroutines may sleep at once, and what happens when does not depend on how
// fast the machine is. The world has no goroutines: a host that has had time
// to come back is found to be back when somebody next looks.
package hosttest
