// Package governing keeps the members of an etcd cluster fast enough while a
// host near them is staged: it measures the disk latency of the members, and
// sends the host its pace. Package engine/governor decides the pace.
package governing

import (
	"context"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/governor"
)

const (
	governEvery  = time.Second      // time between two samples of the governor
	callTimeout  = 5 * time.Second  // limit for a scrape of all members before the staging, and for a script that sends a pace
	scrapeLimit  = time.Second      // limit for a scrape of all members during the staging; a later answer counts in the next sample
	renewPace    = 5 * time.Second  // time after which the same pace is sent again, because a host without messages falls back to its safe pace
	idleDuration = 10 * time.Second // duration of the measurement before the first staging near a cluster
)

// Ports are the connections of the package to its environment. Scrape returns
// when its context ends, and returns answers that come later at its next call.
type Ports struct {
	Now     func() time.Time
	Sleep   func(context.Context, time.Duration) error
	Scrape  func(ctx context.Context, cluster string) []governor.Scrape
	Send    func(ctx context.Context, host, script string, timeout time.Duration) (engine.Output, error)
	SetRate func(host string, bytesPerSecond int64) // limits the rate of contents from the bastion to a host; 0 removes the limit; nil: there is no content
	Emit    func(event.Event)
}

func (p Ports) scrapeMembers(ctx context.Context, cluster string, limit time.Duration) []governor.Scrape {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return p.Scrape(ctx, cluster)
}

// Staging is a step that stages a host near a cluster.
type Staging struct {
	Plan    engine.HostPlan
	Step    engine.Step
	Lane    engine.Lane
	Members int       // number of members of the cluster whose hosts stay at the site, by the inventory
	Began   time.Time // start of the run
	Staged  []string  // hosts near the cluster that an earlier run is still staging
}
