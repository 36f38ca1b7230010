//go:build hasty

package hoststate

import "time"

// settledAfter is short in programs that are built with the tag "hasty": scenarios of the lab reboot hosts a thousand times,
// and most of them do not judge how long a service has run.
const settledAfter = 2 * time.Second
