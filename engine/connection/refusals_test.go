package connection

import (
	"testing"
	"time"

	"holdfast/engine/remote"
)

// TestLoginsThatCallersGaveUp checks that a caller with time logs in, although callers with less time have given up before: a
// slow login is not refused.
func TestLoginsThatCallersGaveUp(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for kind, waits := range map[remote.Kind]bool{remote.Timeout: false, remote.Canceled: false, remote.Auth: true, remote.Lost: true} {
		var r refusals
		for range 2 * freeRefusals {
			r.noteLogin(&remote.Error{Kind: kind, LoginFailed: true}, now)
		}
		if err := r.refuseEarly(now); (err != nil) != waits {
			t.Errorf("after logins that ended with %s, the next one is refused: %v", kind, err)
		}
	}
}
