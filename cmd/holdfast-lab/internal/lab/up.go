package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/cmd/holdfast-lab/internal/host"
	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/kubernetes"
	"holdfast/cmd/holdfast-lab/internal/pki"
	"holdfast/cmd/holdfast-lab/internal/site"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

const (
	// defaultSize is the size of a host's disk, whose file is sparse.
	defaultSize = "4G"
	// bootAtOnce is the largest number of hosts that boot at the same time,
	// because machines may be small.
	bootAtOnce = 5
	// upTimeout limits the boot of one host. It is long enough for a busy
	// machine.
	upTimeout = 3 * time.Minute
	// qemuUpTimeout is the same for a host in qemu, whose processor is emulated.
	qemuUpTimeout = 15 * time.Minute
)

// Up brings the lab up. It installs and builds missing parts, makes missing
// hosts, and turns on the power of all hosts. Then it waits until all hosts
// answer and every etcd cluster is healthy. A lab with other hosts must be taken
// down first.
func (l *Lab) Up(ctx context.Context, s spec.Spec, o Options) error {
	unlock, err := l.lockLab(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.Validate(); err != nil {
		return err
	}
	if s.HasQemu() {
		if o.Suite, err = cmp.Or(o.Suite, image.DefaultSuite).WithKernel(); err != nil {
			return fmt.Errorf("bring lab up: %w", err)
		}
	}
	if !l.IsUp() {
		l.setSuite(o.Suite)
	}
	if l.IsUp() && (!reflect.DeepEqual(l.state.Spec, s) || l.Suite() != cmp.Or(o.Suite, image.DefaultSuite)) {
		return errors.New(`bring lab up: it is up with other hosts; "holdfast-lab down" first`)
	}
	if err := l.endGoneLabs(ctx); err != nil {
		return err
	}
	if err := l.makeLab(ctx, s, o); err != nil {
		return err
	}
	return l.makeAndBoot(ctx, l.Hosts())
}

func (l *Lab) makeLab(ctx context.Context, s spec.Spec, o Options) error {
	if err := image.InstallTools(ctx, l.log); err != nil {
		return err
	}
	if s.HasQemu() {
		if err := image.InstallEmulator(ctx, l.log); err != nil {
			return err
		}
	}
	if err := l.buildImage(ctx, l.imageStore()); err != nil {
		return err
	}
	if !l.IsUp() {
		// Hosts without lab.json are the rest of a lab that somebody has removed with rm.
		if err := image.Remove(l.path("hosts")); err != nil {
			return err
		}
		if err := l.initState(s, o); err != nil {
			return err
		}
	}
	if err := machineLabs.addLab(l.space, l.dir); err != nil {
		return err
	}
	if err := l.space.Up(ctx); err != nil {
		return err
	}
	if err := machineWatches.raiseLimit(); err != nil { // after space.Up, so that another lab that goes down sees this one
		return err
	}
	if err := l.Serve(ctx, 0); err != nil {
		return err
	}
	return l.SetBMC(ctx, o.BMC || l.state.Options.BMC)
}

func (l *Lab) initState(s spec.Spec, o Options) error {
	if o.Kind == "" {
		o.Kind = host.OnLoop
	}
	if o.Size == "" {
		o.Size = defaultSize
	}
	o.Suite = l.Suite()
	l.state = state{Spec: s, Options: o, HostKeys: map[string]key{}}
	var err error
	if l.state.User.Private, l.state.User.Public, err = site.NewKey("holdfast-lab"); err != nil {
		return err
	}
	for _, h := range s.Hosts {
		var k key
		if k.Private, k.Public, err = site.NewKey(h.Name); err != nil {
			return err
		}
		l.state.HostKeys[h.Name] = k
	}
	for _, c := range s.Clusters {
		if err := l.makeCertificates(c.Name); err != nil {
			return err
		}
	}
	if err := l.makeKubernetes(kubernetes.Main); err != nil {
		return err
	}
	return l.saveState()
}

func (l *Lab) makeCertificates(name string) error {
	ca, err := pki.NewAuthority(name)
	if err != nil {
		return err
	}
	client, err := ca.Issue("holdfast-lab")
	if err != nil {
		return err
	}
	dir := l.path("pki", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write certificates: %w", err)
	}
	for file, content := range map[string][]byte{
		"ca.crt": ca.Cert, "ca.key": ca.Key, "client.crt": client.Cert, "client.key": client.Key,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			return fmt.Errorf("write certificates: %w", err)
		}
	}
	return nil
}

// siteFile is a file of the site.
type siteFile struct {
	name    string
	content []byte
	mode    os.FileMode
}

func (l *Lab) writeSite() error {
	v1, _, err := l.Commits()
	if err != nil {
		return err
	}
	public := map[string]string{}
	for name, k := range l.state.HostKeys {
		public[name] = k.Public
	}
	if err := os.MkdirAll(l.Site(), 0o755); err != nil {
		return fmt.Errorf("write site: %w", err)
	}
	controllers, err1 := l.readBMCSite()
	nodes, err2 := l.readKubernetesSite()
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("write site: %w", err)
	}
	files := append(slices.Concat(controllers, nodes),
		siteFile{site.Inventory, site.RenderInventory(l.state.Spec, l.Suite().Ref(), v1, l.siteBMC()), 0o644},
		siteFile{site.KnownHosts, site.RenderKnownHosts(l.state.Spec, public), 0o644},
		siteFile{site.Identity, []byte(l.state.User.Private), 0o600},
		siteFile{site.Identity + ".pub", []byte(l.state.User.Public), 0o644},
	)
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(l.Site(), f.name), f.content, f.mode); err != nil {
			return fmt.Errorf("write site: %w", err)
		}
	}
	return nil
}

// makeAndBoot makes missing hosts and turns their power on. It makes one disk after the other, because the first of each size
// is the master of the others. Meanwhile the hosts before boot.
func (l *Lab) makeAndBoot(ctx context.Context, hosts []*Host) error {
	err := l.logDuration("make and boot hosts", func() error {
		p := pool.New().WithErrors().WithMaxGoroutines(bootAtOnce)
		var makeErr error
		for _, h := range hosts {
			if err := l.makeHost(ctx, h); err != nil {
				makeErr = fmt.Errorf("make host %s: %w", h.Name, err)
				break
			}
			p.Go(func() error { return l.bootHost(ctx, h) })
		}
		return errors.Join(makeErr, p.Wait())
	})
	if err != nil {
		return err
	}
	if err := l.logDuration("etcd healthy", func() error { return l.waitEtcd(ctx, hosts) }); err != nil {
		return err
	}
	return l.startKubernetes(ctx, kubernetes.Main)
}

func (l *Lab) bootHost(ctx context.Context, h *Host) error {
	if err := h.Power(ctx, On); err != nil {
		return err
	}
	limit := upTimeout
	if h.Machine == spec.Qemu {
		limit = qemuUpTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit+l.state.Options.Post)
	defer cancel()
	return h.WaitUp(ctx, "")
}

func (l *Lab) logDuration(name string, do func() error) error {
	start := time.Now()
	err := do()
	l.log("%-24s %5.1f s", name, time.Since(start).Seconds())
	return err
}
