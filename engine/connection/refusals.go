package connection

import (
	"time"

	"holdfast/engine/remote"
)

// freeRefusals is how many logins in a row a host may refuse before the next one waits for remote.RefusalPause: a host that boots
// accepts its connections a moment before its logins.
const freeRefusals = 3

// refusals are the logins in a row that a host has refused. Waits of a run ask for the connection every 500 ms.
type refusals struct {
	count int
	last  error
	until time.Time // no login before
}

// refuseEarly returns the last refusal if it is too early for another login.
func (r *refusals) refuseEarly(now time.Time) error {
	if now.Before(r.until) {
		return r.last
	}
	return nil
}

// noteLogin notes the result of a login. A login that its caller gave up, or whose time was over, is no refusal, and its error is
// not for others, who may have more time.
func (r *refusals) noteLogin(err error, now time.Time) {
	if kind := remote.KindOf(err); kind == remote.Canceled || kind == remote.Timeout {
		return
	}
	if !remote.HasLoginFailed(err) {
		*r = refusals{}
		return
	}
	r.count, r.last = r.count+1, err
	if r.count >= freeRefusals {
		r.until = now.Add(remote.RefusalPause)
	}
}
