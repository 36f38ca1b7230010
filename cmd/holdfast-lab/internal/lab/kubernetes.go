package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/kubernetes"
	"holdfast/cmd/holdfast-lab/internal/site"
)

// kubernetesTimeout limits the wait for a new cluster. It is long enough for a busy machine.
const kubernetesTimeout = 3 * time.Minute

// kubernetesName is the folder of the main cluster.
const kubernetesName = "kubernetes"

// kubernetesService returns the service that runs a cluster.
func kubernetesService(c kubernetes.Cluster) service {
	name := kubernetesName
	if c != kubernetes.Main {
		name += "-" + string(c)
	}
	return service{name: "Kubernetes cluster " + string(c), claim: name + ".lock", log: name + ".log", address: c.ControlAddress(), command: []string{"kubernetes", string(c)}}
}

// kubernetesNames returns the names of the files and folders of clusters.
func kubernetesNames() []string {
	var names []string
	for _, c := range kubernetes.Clusters() {
		s := kubernetesService(c)
		names = append(names, strings.TrimSuffix(s.claim, ".lock"), s.claim, s.log)
	}
	return names
}

// KubernetesFolder returns the folder with the files of a Kubernetes cluster of the lab.
func (l *Lab) KubernetesFolder(c kubernetes.Cluster) kubernetes.Folder {
	return kubernetes.Folder(l.path(strings.TrimSuffix(kubernetesService(c).claim, ".lock")))
}

// Kubernetes returns the control of a Kubernetes cluster of the lab.
func (l *Lab) Kubernetes(c kubernetes.Cluster) kubernetes.Client {
	return kubernetes.Client{Cluster: c, Dial: l.DialContext}
}

// StartCluster starts another cluster than the main one, which it has no data of, and waits until it is complete.
func (l *Lab) StartCluster(ctx context.Context, c kubernetes.Cluster) error {
	if err := l.makeKubernetes(c); err != nil {
		return err
	}
	return l.startKubernetes(ctx, c)
}

// stopKubernetes stops all clusters: their data are in etcd.
func (l *Lab) stopKubernetes(ctx context.Context) error {
	var errs []error
	for _, c := range kubernetes.Clusters() {
		errs = append(errs, l.stopService(ctx, kubernetesService(c)))
	}
	return errors.Join(errs...)
}

// startKubernetes starts the cluster if the lab has one, with the etcd of its hosts, and waits until all nodes are Ready.
func (l *Lab) startKubernetes(ctx context.Context, c kubernetes.Cluster) error {
	if c == kubernetes.Main && !l.state.Spec.Kubernetes {
		return nil
	}
	return l.logDuration("Kubernetes ready", func() error {
		if err := l.startService(ctx, kubernetesService(c)); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, kubernetesTimeout)
		defer cancel()
		return l.Kubernetes(c).WaitReady(ctx)
	})
}

// RunKubernetesHere runs a cluster in the calling process until ctx ends. The process must be inside the lab's network.
func (l *Lab) RunKubernetesHere(ctx context.Context, of kubernetes.Cluster) (err error) {
	claim, err := l.claimService(kubernetesService(of), "-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, claim.Close()) }()
	programs, err := kubernetes.FindPrograms()
	if err != nil {
		return err
	}
	etcd, err := l.kubernetesEtcd()
	if err != nil {
		return err
	}
	c := kubernetes.Config{Cluster: of, Folder: l.KubernetesFolder(of), Programs: programs, Etcd: etcd, Log: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
	}}
	hosts := l.Hosts()
	if of == kubernetes.Bare {
		hosts = nil
	}
	for _, h := range hosts {
		c.Nodes = append(c.Nodes, kubernetes.Node{Name: h.Name, Address: h.Address(), Follow: h.followBoot})
	}
	return kubernetes.Run(ctx, c)
}

func (l *Lab) kubernetesEtcd() (kubernetes.Etcd, error) {
	if len(l.state.Spec.Clusters) == 0 {
		return kubernetes.Etcd{}, errors.New("run Kubernetes: the lab has no etcd_cluster to keep its data in")
	}
	c := l.state.Spec.Clusters[0]
	dir := func(name string) string { return l.path("pki", c.Name, name) }
	e := kubernetes.Etcd{CA: dir("ca.crt"), Cert: dir("client.crt"), Key: dir("client.key")}
	for _, name := range c.Hosts {
		h, err := l.Host(name)
		if err != nil {
			return e, err
		}
		e.Members = append(e.Members, kubernetes.Member{Host: name, URL: "https://" + h.Address() + ":2379"})
	}
	return e, nil
}

// makeKubernetes makes the keys and kubeconfigs of the cluster. Its programs, which take long to build, must be there.
func (l *Lab) makeKubernetes(c kubernetes.Cluster) error {
	if c == kubernetes.Main && !l.state.Spec.Kubernetes {
		return nil
	}
	if _, err := kubernetes.FindPrograms(); err != nil {
		return fmt.Errorf("bring lab up: %w", err)
	}
	var nodes []kubernetes.Node
	for _, h := range l.state.Spec.Hosts {
		nodes = append(nodes, kubernetes.Node{Name: h.Name})
	}
	return l.KubernetesFolder(c).MakeAccess(c, nodes)
}

// readKubernetesSite returns the kubeconfig that the kubernetes block of the inventory names.
func (l *Lab) readKubernetesSite() ([]siteFile, error) {
	if !l.state.Spec.Kubernetes {
		return nil, nil
	}
	text, err := os.ReadFile(l.KubernetesFolder(kubernetes.Main).Kubeconfig(kubernetes.Holdfast))
	return []siteFile{{site.Kubeconfig, text, 0o600}}, err
}

// followBoot calls beat every second while the host is up, over one connection, with the ID of its boot.
func (h *Host) followBoot(ctx context.Context, beat func(bootID string)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	attempt := time.AfterFunc(attemptTimeout, cancel)
	defer attempt.Stop()
	client, err := h.dialSSH(ctx)
	if err != nil {
		return // it is away
	}
	defer func() { _ = client.Close() }()
	session, err := client.NewSession()
	if err != nil {
		return
	}
	session.Stdout = writerFunc(func(p []byte) {
		attempt.Reset(attemptTimeout)
		if id := strings.TrimSpace(string(p)); len(id) == bootIDLength {
			beat(id)
		}
	})
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer stop()
	_ = session.Run("while cat /proc/sys/kernel/random/boot_id; do sleep 1; done") // it ends with the host
}

const bootIDLength = 36

// writerFunc is an io.Writer.
type writerFunc func(p []byte)

// Write calls the function.
func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}
