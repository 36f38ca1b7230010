package lab

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sourcegraph/conc/pool"

	"holdfast/cmd/holdfast-lab/internal/host"
	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/pki"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

// makeHost does nothing if the host exists.
func (l *Lab) makeHost(ctx context.Context, h *Host) error {
	if _, err := h.folder.Config(); err == nil {
		return nil
	}
	o := l.state.Options
	config := host.Config{Host: h.Host, Group: string(l.space), Kind: o.Kind, Size: o.Size}
	if h.Machine == spec.Qemu {
		config.Kind = host.OnQemu
	}
	if size, ok := o.Disks[h.Name]; ok {
		config.Size = size
	}
	id, err := l.identityOf(h.Host)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(h.folder), 0o755); err != nil {
		return err
	}
	if config.Kind == host.OnDir {
		err = l.imageStore().CopyDir(ctx, h.folder.Root())
	} else {
		err = l.imageStore().CopyDisk(ctx, config.Size, h.folder.Image())
	}
	if err != nil {
		return err
	}
	if err := h.folder.SetSettings(host.Settings{Post: o.Post}); err != nil {
		return err
	}
	return h.folder.Create(config, id)
}

func (l *Lab) identityOf(h spec.Host) (host.Identity, error) {
	k := l.state.HostKeys[h.Name]
	id := host.Identity{
		Host: h, Peers: l.state.Spec.Hosts,
		HostKey: k.Private, HostKeyPublic: k.Public, AuthorizedKey: l.state.User.Public,
	}
	if h.Cluster == "" {
		return id, nil
	}
	ca, err := l.readPair(h.Cluster, "ca")
	if err != nil {
		return id, err
	}
	peer, err := ca.Issue(h.Name, h.Address(), "127.0.0.1", "localhost")
	if err != nil {
		return id, err
	}
	id.Etcd = &host.Member{Cluster: h.Cluster, CA: ca.Cert, Pair: peer}
	cluster, _ := l.state.Spec.Cluster(h.Cluster)
	for _, name := range cluster.Hosts {
		member, _ := l.state.Spec.Host(name)
		id.Etcd.Members = append(id.Etcd.Members, member)
	}
	return id, nil
}

// Authority returns the authority of a cluster.
func (l *Lab) Authority(cluster string) (pki.Pair, error) { return l.readPair(cluster, "ca") }

func (l *Lab) readPair(cluster, name string) (pki.Pair, error) {
	cert, err1 := os.ReadFile(l.path("pki", cluster, name+".crt"))
	key, err2 := os.ReadFile(l.path("pki", cluster, name+".key"))
	if err := errors.Join(err1, err2); err != nil {
		return pki.Pair{}, fmt.Errorf("read certificate: %w", err)
	}
	return pki.Pair{Cert: cert, Key: key}, nil
}

// Reset restores the state of hosts after the first Up: the first version, no
// changed files, empty etcd, default settings. It resets all members of an etcd
// cluster together, because the cluster would refuse a member that lost its data.
// Without names, Reset resets all hosts.
func (l *Lab) Reset(ctx context.Context, names ...string) error {
	unlock, err := l.lockLab(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	hosts, err := l.withClusterPeers(names)
	if err != nil {
		return err
	}
	if err := l.stopKubernetes(ctx); err != nil {
		return err
	}
	err = l.logDuration("remove hosts", func() error { return removeHosts(ctx, hosts) })
	if err != nil {
		return err
	}
	if err := l.Serve(ctx, 0); err != nil {
		return err
	}
	return l.makeAndBoot(ctx, hosts)
}

func (l *Lab) withClusterPeers(names []string) ([]*Host, error) {
	if len(names) == 0 {
		return l.Hosts(), nil
	}
	wanted, clusters := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		h, err := l.Host(name)
		if err != nil {
			return nil, err
		}
		wanted[name] = true
		clusters[h.Cluster] = h.Cluster != ""
	}
	var hosts []*Host
	for _, h := range l.Hosts() {
		if wanted[h.Name] || clusters[h.Cluster] {
			hosts = append(hosts, h)
		}
	}
	return hosts, nil
}

func removeHosts(ctx context.Context, hosts []*Host) error {
	p := pool.New().WithErrors()
	for _, h := range hosts {
		p.Go(func() error {
			if err := h.Power(ctx, Off); err != nil {
				return err
			}
			return image.Remove(string(h.folder))
		})
	}
	return p.Wait()
}
