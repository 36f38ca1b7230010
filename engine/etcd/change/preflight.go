package change

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/textutil"
)

// checkNewHost returns a message: the times of the disk, or the reason why the host cannot get a member.
func (a actions) checkNewHost(ctx context.Context, host string) string {
	fail := func(reason string) string {
		a.failed[host] = reason
		return reason
	}
	h, _ := a.findHost(host)
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	reply, err := a.Hosts.Run(ctx, h, preflightScript(*a.Cluster.Managed))
	switch {
	case err != nil:
		return fail(err.Error())
	case reply.Code != 0:
		return fail(textutil.Printable(textutil.FirstLine(reply.Stderr)))
	}
	for _, other := range a.Members {
		clock, known := a.clocks[other.Name]
		if skew := a.clocks[host].leastSkew(clock); known && skew > 2*clockTolerance {
			return fail(fmt.Sprintf("its clock and the clock of %s are %s apart; set them right", other.Name, skew.Round(time.Second)))
		}
	}
	closed, unknown := a.checkPorts(ctx, host)
	if closed != "" {
		return fail(closed)
	}
	a.checked[host] = joinTexts("; ", describeSyncs(reply.Stdout), unknown)
	return a.checked[host]
}

// checkPorts connects from a new host to the peer ports of the healthy members, and from these to the peer port of the
// new host, where nothing listens yet. It returns the ports that are closed, and the ports whose state is unknown.
func (a actions) checkPorts(ctx context.Context, host string) (closed, unknown string) {
	members := slices.DeleteFunc(slices.Clone(a.members), func(m membership.Member) bool { return !m.Healthy })
	var urls []string
	for _, m := range members {
		urls = append(urls, a.urls[m.ID]...)
	}
	address := a.peerAddress(host)
	var wg conc.WaitGroup
	var outward string
	wg.Go(func() {
		if err := a.Etcd.CheckPorts(ctx, host, urls); err != nil {
			outward = err.Error()
		}
	})
	known, errs := make([]bool, len(members)), make([]error, len(members))
	for i, m := range members {
		wg.Go(func() { known[i], errs[i] = a.Etcd.CheckReach(ctx, m.Host, address) })
	}
	wg.Wait()
	var blockedFrom, unknownFrom string
	for i, m := range members {
		switch {
		case errs[i] == nil:
		case known[i]:
			blockedFrom = joinTexts(", ", blockedFrom, describeReach(m, errs[i]))
		default:
			unknownFrom = joinTexts(", ", unknownFrom, describeReach(m, errs[i]))
		}
	}
	port := address + ", the peer port of " + host + ", is "
	if blockedFrom != "" {
		blockedFrom = port + "not reached from " + blockedFrom + "; open it for the members in the firewall of " + host + " and on the way there"
	}
	if unknownFrom != "" {
		unknownFrom = "not known whether " + port + "reached from " + unknownFrom
	}
	return joinTexts("; ", outward, blockedFrom), unknownFrom
}

func describeReach(m membership.Member, err error) string {
	return textutil.Printable(fmt.Sprintf("member %s on host %s (%v)", m.DisplayName(), m.Host, err))
}

// joinTexts joins the texts that are not empty.
func joinTexts(between string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), between)
}

// describeSyncs returns the p99 that a preflight measured, and the p99 that etcd recommends (etcd, hardware recommendations).
func describeSyncs(output string) string {
	var seconds float64
	var number int
	if n, err := fmt.Sscanf(output, "sync %g %d", &seconds, &number); n != 2 || err != nil || !(seconds >= 0 && seconds < 1000) {
		return "the time of synced writes is not known"
	}
	return fmt.Sprintf("p99 of %d synced writes %.1f ms; etcd advises less than 10 ms", number, seconds*1000)
}
