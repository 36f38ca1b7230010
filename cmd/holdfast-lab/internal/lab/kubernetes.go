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

// kubernetesName is the folder of the cluster.
const kubernetesName = "kubernetes"

var kubernetesService = service{name: "Kubernetes", claim: "kubernetes.lock", log: "kubernetes.log", address: kubernetes.ControlAddress, command: []string{"kubernetes"}}

// KubernetesFolder returns the folder with the files of the lab's Kubernetes cluster.
func (l *Lab) KubernetesFolder() kubernetes.Folder { return kubernetes.Folder(l.path(kubernetesName)) }

// Kubernetes returns the control of the lab's Kubernetes cluster.
func (l *Lab) Kubernetes() kubernetes.Client { return kubernetes.Client{Dial: l.DialContext} }

// startKubernetes starts the cluster if the lab has one, with the etcd of its hosts, and waits until all nodes are Ready.
func (l *Lab) startKubernetes(ctx context.Context) error {
	if !l.state.Spec.Kubernetes {
		return nil
	}
	return l.logDuration("Kubernetes ready", func() error {
		if err := l.startService(ctx, kubernetesService); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, kubernetesTimeout)
		defer cancel()
		return l.Kubernetes().WaitReady(ctx)
	})
}

// RunKubernetesHere runs the cluster in the calling process until ctx ends. The process must be inside the lab's network.
func (l *Lab) RunKubernetesHere(ctx context.Context) (err error) {
	claim, err := l.claimService(kubernetesService, "-")
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
	c := kubernetes.Config{Folder: l.KubernetesFolder(), Programs: programs, Etcd: etcd, Log: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
	}}
	for _, h := range l.Hosts() {
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
func (l *Lab) makeKubernetes() error {
	if !l.state.Spec.Kubernetes {
		return nil
	}
	if _, err := kubernetes.FindPrograms(); err != nil {
		return fmt.Errorf("bring lab up: %w", err)
	}
	var nodes []kubernetes.Node
	for _, h := range l.state.Spec.Hosts {
		nodes = append(nodes, kubernetes.Node{Name: h.Name})
	}
	return l.KubernetesFolder().MakeAccess(nodes)
}

// readKubernetesSite returns the kubeconfig that the kubernetes block of the inventory names.
func (l *Lab) readKubernetesSite() ([]siteFile, error) {
	if !l.state.Spec.Kubernetes {
		return nil, nil
	}
	text, err := os.ReadFile(l.KubernetesFolder().Kubeconfig(kubernetes.Holdfast))
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
