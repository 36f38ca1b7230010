package change

import (
	"context"

	"holdfast/engine"
)

// stayingHosts refuses scripts on hosts that leave the site.
type stayingHosts struct{ Hosts }

func (s stayingHosts) Run(ctx context.Context, host engine.Host, script Script) (engine.Output, error) {
	if err := host.CheckStays(); err != nil {
		return engine.Output{}, err
	}
	return s.Hosts.Run(ctx, host, script)
}
