package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/cmd/holdfast/internal/terminal"
	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/clock"
	"holdfast/engine/connection"
	"holdfast/engine/content"
	"holdfast/engine/desired"
	"holdfast/engine/event"
	"holdfast/engine/hostpattern"
	"holdfast/engine/inventory"
	"holdfast/engine/journal"
	"holdfast/engine/kube"
	"holdfast/engine/kubefacts"
	"holdfast/engine/planner"
	"holdfast/engine/remote"
	"holdfast/engine/rollout"
	"holdfast/engine/textutil"
	"holdfast/engine/web"
	"holdfast/modules"
	"holdfast/modules/hostconfig/observe"
)

// site is a loaded inventory with connections to its hosts and clusters.
type site struct {
	loaded   inventory.Loaded
	secrets  textutil.Secrets // the sensitive values of the inventory
	inv      engine.Inventory
	selectFn func(engine.Host) bool
	hosts    *connection.Hosts
	clusters *connection.Clusters
	runsDir  string
	run      *rollout.Run
	times    engine.EarlierTimes // how long earlier runs took
}

// siteOpener opens the site that the flags name.
type siteOpener struct {
	console
	command event.Command

	inventory []string
	vars      []string
	otherVars []string // names in vars that a playbook defines
	varFiles  []string
	limit     string
	runsDir   string
	forks     int
	askPass   bool
}

func (o *siteOpener) loadInventory() (inventory.Loaded, error) {
	src := inventory.Source{FS: o.newInputs().FS("/"), Root: "/", Vars: o.vars, Others: o.otherVars, Env: os.LookupEnv, Home: os.Getenv("HOME")}
	for _, p := range o.inventory {
		rooted, err := pathBelowRoot(p)
		if err != nil {
			return inventory.Loaded{}, err
		}
		src.Paths = append(src.Paths, rooted)
	}
	for _, p := range o.varFiles {
		rooted, err := pathBelowRoot(p)
		if err != nil {
			return inventory.Loaded{}, err
		}
		src.VarFiles = append(src.VarFiles, rooted)
	}
	loaded, err := o.evaluateInventory(src)
	if err == nil && len(loaded.Inventory.Hosts) == 0 { // without this error every command would succeed
		return loaded, fmt.Errorf("%s: the inventory has no hosts; add a host or a hosts block", strings.Join(o.inventory, ", "))
	}
	return loaded, err
}

// maxEvaluation is the longest time for the evaluation of an inventory.
// Inventories of large sites take a few seconds. Tests shorten this time.
var maxEvaluation = 5 * time.Minute

// evaluateInventory returns an error if loading takes too long: a few nested loops can run for days.
func (o *siteOpener) evaluateInventory(src inventory.Source) (inventory.Loaded, error) {
	type result struct {
		loaded inventory.Loaded
		err    error
	}
	done := make(chan result, 1)
	go func() {
		loaded, err := inventory.Load(src)
		done <- result{loaded, err}
	}()
	select {
	case r := <-done:
		return r.loaded, r.err
	case <-time.After(maxEvaluation):
		return inventory.Loaded{}, fmt.Errorf("%s: the inventory takes longer than %s to evaluate; use fewer loops and functions within loops", strings.Join(o.inventory, ", "), engine.Duration(maxEvaluation))
	}
}

func pathBelowRoot(p string) (string, error) {
	abs, err := filepath.Abs(p)
	if err != nil {
		return "", err
	}
	if abs == "/" {
		return ".", nil
	}
	return strings.TrimPrefix(abs, "/"), nil
}

// openSite does not connect. names and --limit both limit the hosts.
func (o *siteOpener) openSite(_ context.Context, names []string) (*site, error) {
	loaded, err := o.loadInventory()
	if err != nil {
		return nil, err
	}
	s := &site{loaded: loaded, secrets: textutil.NewSecrets(loaded.Sensitive), inv: loaded.Inventory, runsDir: o.runsDir}
	if s.runsDir == "" {
		s.runsDir = filepath.Join(loaded.Dir, "runs")
	}
	if s.selectFn, err = o.parseSelection(s.inv, names); err != nil {
		return nil, err
	}
	id := bastion.NewRunID(clock.Real{}.Now())
	secrets, err := o.newSecrets(s.inv)
	if err != nil {
		return nil, err
	}
	s.hosts = connection.NewHosts(remote.Options{Secrets: secrets, Warn: o.printWarning, ReadFile: o.newInputs().ReadFile, RunMatch: o.runMatch}, observe.ReadFileScript)
	s.hosts.HideSecrets(s.secrets)
	var contents rollout.Contents
	if m := s.inv.Mirror; m != nil {
		served := content.NewServer(*m)
		s.hosts.ServeContents(served)
		contents = served
	}
	s.clusters = connection.NewClusters(s.inv, s.hosts, s.runsDir, id)
	s.run = &rollout.Run{
		Options: rollout.Options{
			ID:      id,
			Start:   event.RunStart{Site: s.inv.Site, Holder: bastion.Holder(), PID: os.Getpid(), Version: buildID(), Command: o.command},
			Request: planner.Request{Inventory: s.inv, Desired: s.inv.Desired(), Modules: modules.All(), Selected: s.selectFn}, Forks: o.forks,
		},
		Ports: rollout.Ports{
			Hosts: s.hosts, Clusters: s.clusters, Nodes: o.newKubernetes(loaded), Local: bastion.Commands{Dir: loaded.Dir, Secrets: s.secrets}, Web: web.Client{Agent: "holdfast/" + buildID()},
			Sink: discard{}, Clock: clock.Real{}, Soft: o.soft, SetRate: s.hosts.SetRate, Contents: contents, Secrets: s.secrets,
		},
	}
	s.run.Power = hostPower{o, s}
	s.run.Holds = &journal.HoldMemory{Folder: s.runsDir, Site: s.inv.Site, Warn: o.printWarning}
	if here, err := journal.ReadBastion(bastion.StateDir(), bastion.ThisMachine()); err == nil { // after an error the identity stays empty, and no hold counts as one of this bastion
		s.run.Start.Bastion = here.Identity
	}
	return s, nil
}

func (s *site) holdOwner() engine.HoldOwner {
	return engine.HoldOwner{Run: s.run.ID, Bastion: s.run.Start.Bastion}
}

// openDesired opens the site and reads the desired states, for commands that
// compare hosts with them. Other commands work even with an invalid
// configuration.
func (o *siteOpener) openDesired(ctx context.Context) (*site, error) {
	s, err := o.openSite(ctx, nil)
	if err != nil {
		return nil, err
	}
	c := o.newConfigs(ctx, s.loaded)
	if s.run.Desired, err = c.States(); err != nil {
		s.close()
		return nil, err
	}
	s.loaded.Warnings = append(s.loaded.Warnings, c.Warnings...)
	return s, nil
}

func (s *site) close() { s.hosts.Close() }

func (s *site) selectedHosts() []engine.Host {
	var hosts []engine.Host
	for _, h := range s.inv.Hosts {
		if s.selectFn(h) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

func (s *site) selectedNames() []string {
	var names []string
	for _, h := range s.selectedHosts() {
		names = append(names, h.Name)
	}
	return names
}

func (s *site) gatherSelected(ctx context.Context) (map[string]engine.Facts, error) {
	s.run.Inventory.Hosts = s.selectedHosts()
	return s.run.GatherHosts(ctx), ctx.Err()
}

func (s *site) selectOnly(names []string) {
	in := map[string]bool{}
	for _, n := range names {
		in[n] = true
	}
	s.selectFn = func(h engine.Host) bool { return in[h.Name] }
}

func (o *siteOpener) parseSelection(inv engine.Inventory, names []string) (func(engine.Host) bool, error) {
	all := func(engine.Host) bool { return true }
	limit, named := all, all
	var err error
	if o.limit != "" {
		if limit, err = hostpattern.Parse(o.limit, inv); err != nil {
			return nil, fmt.Errorf("--limit: %w", err)
		}
	}
	if len(names) > 0 {
		if named, err = hostpattern.Parse(strings.Join(names, ","), inv); err != nil {
			return nil, err
		}
	}
	both := func(h engine.Host) bool { return limit(h) && named(h) }
	if len(names) > 0 && !slices.ContainsFunc(inv.Hosts, both) { // without this error the command would do nothing and succeed
		return nil, fmt.Errorf("%s: none of these hosts is within --limit %s", strings.Join(names, ","), o.limit)
	}
	return both, nil
}

func (o *siteOpener) newKubernetes(loaded inventory.Loaded) kube.Clusters {
	return kube.NewClusters(loaded.Inventory, kube.Bastion{
		Files: o.newInputs(), Programs: bastion.Commands{Dir: loaded.Dir, Secrets: textutil.NewSecrets(loaded.Sensitive)},
		Agent: "holdfast/" + buildID(), Now: time.Now, Sleep: clock.Sleep,
	})
}

// checkKubeconfigs checks the kubeconfigs. A file that is not on this machine is a warning, because it may be on the
// bastion. A file with wrong contents is an error.
func (o *siteOpener) checkKubeconfigs(loaded inventory.Loaded) (absent []string, err error) {
	var wrong []error
	for _, p := range o.newKubernetes(loaded).CheckFiles() {
		if p.Kind == kubefacts.KubeconfigMissing {
			absent = append(absent, p.Error())
		} else {
			wrong = append(wrong, p)
		}
	}
	return absent, errors.Join(wrong...)
}

// discard is the sink of commands without a journal.
type discard struct{}

func (discard) Emit(event.Event) error { return nil }

func (o *siteOpener) newConfigs(ctx context.Context, loaded inventory.Loaded) *desired.Configs {
	c := desired.NewConfigs(loaded, o.newInputs().FS("/"))
	fetcher := web.NewFetcher(ctx, c.AddWarning)
	fetcher.Wait = o.printNotice
	c.Fetch = fetcher.Fetch
	return c
}

// setBastionIdentity makes sure that this bastion has an identity, and adds it to
// the run. The identity distinguishes the holds of this bastion from those of
// other bastions.
func (o *siteOpener) setBastionIdentity(s *site) error {
	here, err := journal.EnsureBastion(bastion.StateDir(), bastion.ThisMachine())
	if err != nil {
		return err
	}
	if was := here.Replaced; was != (journal.Machine{}) {
		fmt.Fprintf(o.stderr, "holdfast: warning: the identity of this bastion was made on %s, with another host name or machine ID, and is replaced; holds that runs of that bastion have left are not adopted\n", textutil.Printable(was.Hostname))
	}
	s.run.Start.Bastion = here.Identity
	return nil
}

// newSecrets asks for the password of -K immediately, before other output and before a host needs the password.
func (o *siteOpener) newSecrets(inv engine.Inventory) (*bastion.Secrets, error) {
	s := bastion.NewSecrets(inv, o.newInputs(), func(ctx context.Context, text string) ([]byte, error) {
		return terminal.Question{Text: text, Hidden: true}.Ask(ctx, o.soft)
	})
	if !o.askPass {
		return s, nil
	}
	return s, s.AskBecomePassword(o.soft)
}
