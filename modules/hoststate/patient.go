//go:build !hasty

package hoststate

import "time"

const settledAfter = 10 * time.Second
