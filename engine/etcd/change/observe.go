package change

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/setting"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

// Observe gathers all facts for the next step.
func (r *Run) Observe(ctx context.Context) (membership.State, error) {
	o, began := observer{r}, time.Now()
	probed, err := o.probeHosts(ctx)
	if err != nil {
		return membership.State{}, err
	}
	o.askVersions(ctx, probed)
	o.excludeGatherTime(began, 3*scriptTime)
	began = time.Now()
	s := membership.State{Cluster: r.Cluster.Name, Saved: r.saved, AllowOutage: r.Cluster.AllowOutage, AnyVersion: r.AnyVersion}
	list := o.listMembers(ctx, probed)
	o.excludeGatherTime(began, scriptTime)
	if ctx.Err() != nil {
		return membership.State{}, context.Cause(ctx)
	}
	o.compareSettings(probed, list.Members)
	for _, p := range probed {
		s.Hosts = append(s.Hosts, p.host)
	}
	s.Problem, s.Members, s.Alarms, s.Version = list.Problem, list.Members, list.Alarms, list.Version
	if r.Certificates != nil {
		r.Certificates.addTo(&s)
	}
	if err := o.observeHook(&s); err != nil {
		return membership.State{}, err
	}
	return s, o.nameMembers(&s)
}

// excludeGatherTime takes the time of gathering, up to limit, out of the age of the facts: a slow host or a slow etcd is no
// reason to gather them for ever. The monotonic clock does not count suspends of the bastion, and the limit is for a process
// that was stopped.
func (o observer) excludeGatherTime(began time.Time, limit time.Duration) {
	o.observed = o.observed.Add(min(time.Since(began), limit))
}

// observer gathers the facts of hosts and etcd for a run, and keeps those that later steps need.
type observer struct{ *Run }

// probedHost is a host with the results of its probe.
type probedHost struct {
	host  membership.Host
	found hostState
	clock clockReading
}

// probeHosts probes all hosts at once.
func (o observer) probeHosts(ctx context.Context) ([]probedHost, error) {
	o.observed = time.Now().Round(0)
	probed := make([]probedHost, len(o.Members))
	forEachHost(probed, func(i int) { probed[i] = o.observeHost(ctx, o.Members[i]) })
	if o.Certificates != nil {
		o.observeCertificates(ctx, probed)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o.replaced, o.tuned = replacedClusters{}, map[string]setting.Found{}
	clear(o.clocks)
	for _, p := range probed {
		o.replaced.mergeLines(p.found.replaced)
		if p.host.Unreachable == "" {
			o.clocks[p.host.Name] = p.clock
			if p.host.HasData {
				o.tuned[p.host.Name] = p.found.settings
			}
		}
	}
	for i := range probed {
		probed[i].host.Replaced = o.replaced.hasData(probed[i].host.Name, probed[i].found.dataCluster)
	}
	return probed, nil
}

func forEachHost(hosts []probedHost, do func(i int)) {
	var wg conc.WaitGroup
	for i := range hosts {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

// listMembers asks etcd on all hosts except those with data of a replaced cluster. Only other hosts may claim that this
// cluster was replaced. So while a quorum of it lives, the members count as unknown.
func (o observer) listMembers(ctx context.Context, probed []probedHost) etcd.MemberList {
	var replaced, others []string
	for _, p := range probed {
		if p.host.Replaced {
			replaced = append(replaced, p.host.Name)
		} else {
			others = append(others, p.host.Name)
		}
	}
	list := o.Etcd.Members(ctx, replaced...)
	if len(replaced) > 0 {
		old := membership.CountVoters(o.Etcd.Members(ctx, others...).Members)
		if old.QuorumLives() {
			list.Problem = fmt.Sprintf("the data of %s are said to be of a cluster that a restore has replaced, but %d of its %d voters are healthy; "+
				"if it was replaced, stop etcd there: systemctl stop %s", strings.Join(replaced, ", "), old.Healthy, old.Voters, o.Cluster.Managed.Unit)
		}
	}
	hosts := make([]membership.Host, len(probed))
	for i, p := range probed {
		hosts[i] = p.host
	}
	list.Members = membership.PlaceByData(list.Members, hosts)
	o.members, o.urls = list.Members, list.PeerURLs
	return list
}

// nameMembers finds the IDs of the members that a person has named. It does so once, because a member that is added again
// under the same name is another member.
func (o observer) nameMembers(s *membership.State) error {
	if o.names == nil && s.Problem == "" {
		o.names = map[string]string{}
		for _, name := range o.Named {
			i := slices.IndexFunc(s.Members, func(m membership.Member) bool { return m.Name == name || m.ID == name })
			if i < 0 {
				return fmt.Errorf("--remove-member %s: etcd cluster %s has no such member", name, o.Cluster.Name)
			}
			o.names[s.Members[i].ID] = name
		}
	}
	for id := range o.names {
		s.Named = append(s.Named, id)
	}
	slices.Sort(s.Named)
	return nil
}

func (o observer) observeHost(ctx context.Context, h engine.Host) probedHost {
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	out := membership.Host{Name: h.Name, Retired: h.Retired, Leaving: h.Leaving, Failed: o.failed[h.Name]}
	_, out.Checked = o.checked[h.Name]
	asked := time.Now()
	reply, err := o.Hosts.Run(ctx, h, probeScript(*o.Cluster.Managed))
	switch {
	case err != nil:
		out.Unreachable = err.Error()
		return probedHost{host: out}
	case reply.Code != 0:
		out.Unreachable = fmt.Sprintf("its probe fails with exit status %d: %s", reply.Code, textutil.Printable(textutil.FirstLine(reply.Stderr)))
		return probedHost{host: out}
	}
	s := readProbe(reply.Stdout)
	if !s.record.IsValid() {
		out.Unreachable = fmt.Sprintf("%s has %q, which is not a record of holdfast; find out who wrote it, and remove it", recordPath, s.record)
		return probedHost{host: out}
	}
	if line := s.replaced.unknown; line != "" {
		out.Unreachable = fmt.Sprintf("%s has %s", replacedPath, describeUnknownLine(line))
		return probedHost{host: out}
	}
	if s.unmounted != "" {
		out.Unreachable = s.unmounted + " is not mounted; mount it: its data may be there"
	}
	if s.dataDir != "" && s.dataDir != o.Cluster.Managed.DataDir { // nothing may conclude from the other folder that there are no data
		out.Unreachable = fmt.Sprintf("etcd on it has its data in %s, and data_dir of the cluster is %s; set data_dir back", s.dataDir, o.Cluster.Managed.DataDir)
	}
	out.HasData, out.DataOf, out.Running, out.Record = s.data, s.dataOf, s.running, s.record
	return probedHost{out, s, readClock(s.clock, asked)}
}

// clockReading is how far the clock of a host is ahead of the bastion's, and the largest possible error.
type clockReading struct {
	ahead, error time.Duration
	known        bool // the host has printed its clock
}

// readClock returns the reading of a clock that a host printed at some moment since it was asked.
func readClock(clock, asked time.Time) clockReading {
	half := time.Since(asked) / 2
	return clockReading{clock.Sub(asked.Add(half)), half, !clock.IsZero()}
}

// leastSkew returns by how much two clocks differ at least. A slow host prints its clock late.
func (c clockReading) leastSkew(other clockReading) time.Duration {
	return max((c.ahead-other.ahead).Abs()-c.error-other.error, 0)
}

func (r *Run) findHost(host string) (engine.Host, bool) {
	i := slices.IndexFunc(r.Members, func(h engine.Host) bool { return h.Name == host })
	if i < 0 {
		return engine.Host{}, false
	}
	return r.Members[i], true
}

// peerURL returns the URL at which the member of a host listens for other members. It has their scheme, or, without other
// members, the scheme of the clients.
func (r *Run) peerURL(host string) string {
	scheme := "http"
	if r.Cluster.TLS != nil {
		scheme = "https"
	}
	for _, list := range r.urls {
		for _, text := range list {
			if u, err := url.Parse(text); err == nil && u.Scheme != "" {
				scheme = u.Scheme
			}
		}
	}
	return scheme + "://" + r.peerAddress(host)
}

// peerAddress returns the address and the port at which the member of a host listens for other members.
func (r *Run) peerAddress(host string) string {
	h, _ := r.findHost(host)
	return net.JoinHostPort(h.Address, strconv.Itoa(r.Cluster.Managed.PeerPort))
}

// joinSettings names the member after its host: in etcd's list, it has no name until it starts.
func (a actions) joinSettings(step membership.MemberStep) settingsText {
	var initial []string
	own := a.peerURL(step.Host)
	for _, m := range a.members {
		name := m.Name
		if m.ID == step.Member {
			name, own = step.Host, firstOr(a.urls[m.ID], own)
		}
		for _, u := range a.urls[m.ID] {
			initial = append(initial, name+"="+u)
		}
	}
	return settingsText{name: step.Host, managed: *a.Cluster.Managed, peerURL: own, cluster: strings.Join(initial, ","), state: "existing"}
}

func firstOr(list []string, other string) string {
	if len(list) > 0 {
		return list[0]
	}
	return other
}

func (r *Run) runScript(ctx context.Context, host string, script Script) error {
	_, err := r.hostOutput(ctx, host, script)
	return err
}

func (r *Run) hostOutput(ctx context.Context, host string, script Script) (string, error) {
	h, ok := r.findHost(host)
	if !ok {
		return "", fmt.Errorf("%s is not a host of the cluster", host)
	}
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	reply, err := r.Hosts.Run(ctx, h, script)
	return replyText(host, reply, err)
}

func replyText(host string, reply engine.Output, err error) (string, error) {
	switch {
	case err != nil:
		return "", &engine.Failure{Host: host, Kind: engine.UnreachableFailure, Cause: err.Error()}
	case hostscript.IsHeldElsewhere(reply.Code):
		return "", &engine.Failure{Host: host, Kind: engine.HeldFailure, Cause: textutil.Printable(hostscript.DescribeHolder(reply))}
	case reply.Code != 0:
		return "", &engine.Failure{Host: host, Cause: fmt.Sprintf("exit status %d: %s", reply.Code, textutil.Printable(textutil.Secrets{}.KeepTail(strings.TrimSpace(reply.Stderr), 1000)))}
	}
	return textutil.Printable(strings.TrimSpace(reply.Stdout)), nil
}
