package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/connection"
	"holdfast/engine/draft"
	"holdfast/engine/etcd"
	"holdfast/engine/textutil"
	"holdfast/modules/hoststate"
)

// lookForks is how many hosts init --look asks at the same time, besides gathering facts.
const lookForks = 32

// hostLook asks the hosts of a new inventory about themselves.
type hostLook struct {
	*site
	found   map[string]draft.Found
	running map[string]hoststate.Processes
}

// lookAtHosts adds the answers of the hosts to the site. It returns an error if no host answers.
func (w inventoryWriter) lookAtHosts(ctx context.Context, s *draft.Site) error {
	opened, err := w.openDraft(ctx, *s)
	if err != nil {
		return err
	}
	defer opened.close()
	look := hostLook{site: opened, found: map[string]draft.Found{}, running: map[string]hoststate.Processes{}}
	facts := look.gatherFor(ctx, opened.inv.Hosts, "ostree")
	look.sortAnswers(facts)
	look.findProcesses(ctx)
	look.findOS(ctx, facts)
	s.Clusters = look.findClusters(ctx, facts)
	s.Found = look.found
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if len(look.listReached()) == 0 {
		return failWith(engine.ExitUnreachable, fmt.Errorf("no host answered, so nothing was written (%s: %s)", opened.inv.Hosts[0].Name, look.found[opened.inv.Hosts[0].Name].Unreachable))
	}
	return nil
}

// listReached returns the hosts that have answered each question so far, without second names.
func (l hostLook) listReached() []engine.Host {
	return slices.DeleteFunc(slices.Clone(l.inv.Hosts), func(h engine.Host) bool {
		f := l.found[h.Name]
		return f.Unreachable != "" || f.SameAs != ""
	})
}

// sortAnswers tells the hosts that answered from the silent ones. Of several names of one machine, the first one counts.
func (l hostLook) sortAnswers(facts map[string]engine.Facts) {
	names := map[string]string{} // by boot ID of the kernel
	for _, h := range l.inv.Hosts {
		f := facts[h.Name]
		machine := f.BootID.Kernel()
		switch first := names[machine]; {
		case !f.Reached():
			l.found[h.Name] = draft.Found{Unreachable: f.Unreachable}
		case machine != "" && first != "":
			l.found[h.Name] = draft.Found{SameAs: first}
		default:
			names[machine] = h.Name
		}
	}
}

// openDraft opens the site of an inventory that is not written yet. Its hosts are in the order of the draft.
func (w inventoryWriter) openDraft(ctx context.Context, s draft.Site) (*site, error) {
	d, err := draft.Make(s)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "holdfast-init-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it has only the hosts, and is read once
	file := filepath.Join(dir, "inventory.hcl")
	if err := writeNew(file, d.Text); err != nil {
		return nil, err
	}
	o := w.openerOf(file)
	opened, err := o.openSite(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("these hosts make no valid inventory, so nothing was written: %w", err)
	}
	position := make(map[string]int, len(d.Names))
	for i, name := range d.Names {
		position[name] = i
	}
	slices.SortFunc(opened.inv.Hosts, func(a, b engine.Host) int { return cmp.Compare(position[a.Name], position[b.Name]) })
	opened.run.Holds = nil // there are no journals yet
	return opened, nil
}

// gatherFor gathers the facts of hosts whose OS is updated with a driver.
func (l hostLook) gatherFor(ctx context.Context, hosts []engine.Host, driver string) map[string]engine.Facts {
	l.run.Inventory.Hosts, l.run.Desired = hosts, map[string]engine.Desired{}
	for _, h := range hosts {
		l.run.Desired[h.Name] = engine.Desired{OS: &engine.OS{Driver: driver}}
	}
	return l.run.ReadHosts(ctx)
}

// forEachReached calls a function for each host that answered. The results are added in the order of
// the hosts.
func (l hostLook) forEachReached(ask func(engine.Host) (add func())) {
	reached := l.listReached()
	adds := make([]func(), len(reached))
	workers := pool.New().WithMaxGoroutines(lookForks)
	for i, h := range reached {
		workers.Go(func() { adds[i] = ask(h) })
	}
	workers.Wait()
	for _, add := range adds {
		add()
	}
}

// findProcesses asks each host for its programs. A host whose programs are not known counts as one that did
// not answer: its driver and its etcd would be guesses.
func (l hostLook) findProcesses(ctx context.Context) {
	l.forEachReached(func(h engine.Host) func() {
		outputs, err := l.readOn(ctx, h.Name, []engine.Command{hoststate.ProcessesProbe()})
		running, problem := hoststate.ReadProcesses(outputs)
		if err != nil {
			problem = err.Error()
		}
		return func() {
			f := draft.Found{}
			if problem != "" {
				f.Unreachable = "its processes are not known: " + textutil.FirstLine(problem)
			}
			if len(running.Kubelets) > 0 {
				f.Node = running.Kubelets[0]
			}
			l.found[h.Name], l.running[h.Name] = f, running
		}
	})
}

// findOS finds the OS of each host. Its driver is the first tool that answers: rpm-ostree and bootc
// are on no host that only ostree updates. After one that fails, no other is asked, because it may be the
// one that updates the host.
func (l hostLook) findOS(ctx context.Context, ofOstree map[string]engine.Facts) {
	known := map[string]bool{}
	for _, driver := range []string{"rpm-ostree", "bootc", "ostree"} {
		var ask []engine.Host
		for _, h := range l.listReached() {
			if !known[h.Name] && (driver == "ostree" || slices.Contains(l.running[h.Name].Tools, driver)) {
				ask = append(ask, h)
			}
		}
		facts := ofOstree
		if driver != "ostree" && len(ask) > 0 {
			facts = l.gatherFor(ctx, ask, driver)
		}
		for _, h := range ask {
			f, answer := l.found[h.Name], facts[h.Name]
			f.Unreachable = answer.Unreachable
			f.OS, f.OSProblem = draft.FindOS(driver, answer)
			l.found[h.Name], known[h.Name] = f, f.OSProblem == "" || answer.Tool != "" && answer.OSProblem != ""
		}
	}
}

// findClusters asks the etcd of each host for its cluster.
func (l hostLook) findClusters(ctx context.Context, facts map[string]engine.Facts) []draft.FoundCluster {
	var answers []draft.Membership
	l.forEachReached(func(h engine.Host) func() {
		if len(facts[h.Name].Etcd) == 0 && len(l.running[h.Name].Etcd) == 0 {
			return func() {}
		}
		m, err := l.askEtcd(ctx, h)
		if err == nil {
			return func() { answers = append(answers, m) }
		}
		return func() {
			f := l.found[h.Name]
			f.EtcdProblem = textutil.FirstLine(err.Error())
			l.found[h.Name] = f
		}
	})
	clusters, byHost := draft.JoinClusters(answers)
	for host, cluster := range byHost {
		f := l.found[host]
		f.Cluster = cluster
		l.found[host] = f
	}
	return clusters
}

// askEtcd asks the only etcd of a host. Of several credentials, the first ones that etcd accepts count.
func (l hostLook) askEtcd(ctx context.Context, h engine.Host) (draft.Membership, error) {
	running := l.running[h.Name].Etcd
	switch {
	case len(running) == 0:
		return draft.Membership{}, errors.New("it is no process of its own, so its settings are not known")
	case len(running) > 1:
		return draft.Membership{}, fmt.Errorf("%d of them run, and a host of an inventory has one", len(running))
	case running[0].ConfigFile != "":
		return draft.Membership{}, fmt.Errorf("its settings are in %s, which init does not read", running[0].ConfigFile)
	case running[0].TLS && len(running[0].Credentials) == 0:
		return draft.Membership{}, errors.New("its settings name no certificate and CA that a client could use")
	}
	tries := make([]*engine.TLS, 0, 2)
	for i := range running[0].Credentials {
		tries = append(tries, &running[0].Credentials[i])
	}
	if !running[0].TLS {
		tries = append(tries, nil)
	}
	var problems []error
	for _, tls := range tries {
		spec := engine.Cluster{Name: "etcd of " + h.Name, ClientPort: running[0].ClientPort, TLS: tls}
		list := l.listMembers(ctx, h, spec)
		m := draft.Membership{Host: h.Name, Cluster: list.Cluster, ClientPort: spec.ClientPort, TLS: tls, Members: map[string]string{}}
		for _, member := range list.Members {
			m.Members[member.ID] = member.Name
			if member.Host == h.Name {
				m.Member = member.ID
			}
		}
		if m.Member != "" {
			return m, nil
		}
		problem := list.Problem
		if problem == "" {
			problem = "it does not answer"
		}
		problems = append(problems, errors.New(problem))
	}
	return draft.Membership{}, problems[0]
}

// listMembers asks the etcd of one host as a cluster of its own.
func (l hostLook) listMembers(ctx context.Context, h engine.Host, spec engine.Cluster) etcd.MemberList {
	h.Cluster = spec.Name
	inv := engine.Inventory{Site: l.inv.Site, Hosts: []engine.Host{h}, Clusters: []engine.Cluster{spec}}
	clusters := connection.NewClusters(inv, l.hosts, l.runsDir, l.run.ID)
	list := clusters.Members(spec.Name).Members(ctx)
	if list.Cluster == "" && list.Problem == "" {
		if facts := clusters.Gather(ctx, spec.Name); facts.Problem != "" {
			list.Problem = facts.Problem
		} else if len(facts.Members) > 0 {
			list.Problem = facts.Members[0].Problem
		}
	}
	return list
}
