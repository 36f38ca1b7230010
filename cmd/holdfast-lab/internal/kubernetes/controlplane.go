package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast/cmd/holdfast-lab/internal/spec"
	"holdfast/engine/clock"
)

// Etcd is where the API server keeps its data.
type Etcd struct {
	Members       []Member
	CA, Cert, Key string // files
}

// Member is one member of etcd.
type Member struct{ Host, URL string }

// Config describes a cluster.
type Config struct {
	Cluster  Cluster
	Folder   Folder // with what MakeAccess has made
	Programs Programs
	Etcd     Etcd
	Nodes    []Node
	Log      func(string, ...any)
}

// controlPlane runs the programs and the stand-ins for kubelets.
type controlPlane struct {
	Config
	api, manager, scheduler *program
	kubelets                map[string]*kubelet

	mu      sync.Mutex
	ready   bool   // it was complete once
	apiHost string // the API server runs only while this host is up; "": it does not depend on a host
	wanted  bool   // the API server is to run
}

// Run runs a cluster until ctx ends. The calling process must be inside the network of the lab. Others control it through [Client].
func Run(ctx context.Context, c Config) error {
	cp := &controlPlane{Config: c, kubelets: map[string]*kubelet{}, wanted: true}
	cp.api = newProgram(c, "kube-apiserver")
	cp.manager = newProgram(c, "kube-controller-manager", cp.managerFlags()...)
	cp.scheduler = newProgram(c, "kube-scheduler", "--kubeconfig="+c.Folder.Kubeconfig(scheduler), "--leader-elect=false", "--secure-port=0")
	for _, n := range c.Nodes {
		config, err := clientConfig(c.Folder.Kubeconfig(n.userName()))
		if err != nil {
			return err
		}
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("run Kubernetes: %w", err)
		}
		cp.kubelets[n.Name] = &kubelet{Node: n, api: client, log: c.Log}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg conc.WaitGroup
	defer wg.Wait()
	defer cancel()
	for _, k := range cp.kubelets {
		wg.Go(func() { k.runWhileUp(ctx) })
	}
	wg.Go(func() { cp.superviseAll(ctx) })
	wg.Go(func() { cp.completeCluster(ctx) })
	return cp.serveControl(ctx)
}

// clientConfig returns the configuration of a client that asks as often as it likes.
func clientConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// apiFlags uses only the member on the host of the API server, if it has one, as the API server of a control-plane host does.
func (cp *controlPlane) apiFlags() []string {
	var urls []string
	host := cp.readAPIHost()
	for _, m := range cp.Etcd.Members {
		if host == "" || host == m.Host {
			urls = append(urls, m.URL)
		}
	}
	port, _ := cp.Cluster.portNumbers()
	flags := []string{
		"--etcd-servers=" + strings.Join(urls, ","), "--etcd-cafile=" + cp.Etcd.CA, "--etcd-certfile=" + cp.Etcd.Cert, "--etcd-keyfile=" + cp.Etcd.Key,
		"--etcd-prefix=/" + string(cp.Cluster), "--bind-address=" + spec.Gateway, "--advertise-address=" + spec.Gateway, "--secure-port=" + port,
		"--tls-cert-file=" + cp.Folder.path("server.crt"), "--tls-private-key-file=" + cp.Folder.path("server.key"), "--cert-dir=" + cp.Folder.path("certs"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + cp.Folder.path("accounts.pub"),
		"--service-account-signing-key-file=" + cp.Folder.path("accounts.key"), "--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--token-auth-file=" + cp.Folder.path("tokens.csv"),
		"--default-not-ready-toleration-seconds=60", "--default-unreachable-toleration-seconds=60", "--endpoint-reconciler-type=none",
	}
	if cp.Cluster == Bare { // nothing makes the accounts of namespaces
		flags = append(flags, "--disable-admission-plugins=ServiceAccount")
	}
	return flags
}

func (cp *controlPlane) managerFlags() []string {
	return []string{
		"--kubeconfig=" + cp.Folder.Kubeconfig(controller), "--leader-elect=false", "--secure-port=0", "--use-service-account-credentials",
		"--service-account-private-key-file=" + cp.Folder.path("accounts.key"),
		"--node-monitor-period=1s", fmt.Sprintf("--node-monitor-grace-period=%s", nodeGrace),
		// Without this list, it makes folders for volumes on the machine.
		"--controllers=deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller,disruption-controller," +
			"node-lifecycle-controller,taint-eviction-controller,pod-garbage-collector-controller,garbage-collector-controller," +
			"serviceaccount-controller,namespace-controller",
	}
}

// superviseAll keeps the programs running. Controller manager and scheduler start once the API server is ready, because the first ends
// if it waits for too long.
func (cp *controlPlane) superviseAll(ctx context.Context) {
	// The children end with the thread that has started them.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() {
		for _, p := range []*program{cp.manager, cp.scheduler, cp.api} {
			p.endProcess()
		}
	}()
	for ; ctx.Err() == nil; _ = clock.Sleep(ctx, 100*time.Millisecond) { // the loop ends with ctx
		switch {
		case !cp.wantsAPI():
			cp.api.endProcess()
			continue
		case !cp.api.isRunning():
			cp.logError(cp.api.startProcess(cp.apiFlags()))
			continue
		}
		cp.superviseControllers(ctx)
	}
}

func (cp *controlPlane) superviseControllers(ctx context.Context) {
	missing := slices.DeleteFunc([]*program{cp.manager, cp.scheduler}, (*program).isRunning)
	if cp.Cluster == Bare || len(missing) == 0 || !cp.isAPIReady(ctx) {
		return
	}
	for _, p := range missing {
		cp.logError(p.startProcess(nil))
	}
}

func (cp *controlPlane) logError(err error) {
	if err != nil {
		cp.Log("%v", err)
	}
}

func (cp *controlPlane) wantsAPI() bool {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if !cp.wanted || cp.apiHost == "" {
		return cp.wanted
	}
	return cp.kubelets[cp.apiHost].aliveBoot() != ""
}

func (cp *controlPlane) readAPIHost() string {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	return cp.apiHost
}

func (cp *controlPlane) isAPIReady(ctx context.Context) bool {
	return cp.runKubectl(ctx, "", "get", "--raw=/readyz") == nil
}

// completeCluster makes the rights of holdfast and the namespace of leases, and waits until all nodes are Ready.
func (cp *controlPlane) completeCluster(ctx context.Context) {
	steps := []func() error{
		func() error { return cp.runKubectl(ctx, "", "get", "--raw=/readyz") },
		func() error { return cp.runKubectl(ctx, leaseNamespace+rights, "apply", "-f", "-") },
		func() error {
			return cp.runKubectl(ctx, "", append([]string{"wait", "--for=condition=Ready", "--timeout=10s"}, cp.nodeNames()...)...)
		},
		// A pod needs this account of its namespace.
		func() error { return cp.runKubectl(ctx, "", "get", "serviceaccount", "default") },
	}
	if cp.Cluster == Bare {
		steps = steps[:1]
	}
	for _, step := range steps {
		for ctx.Err() == nil {
			err := step()
			if err == nil {
				break
			}
			cp.Log("%v", err)
			_ = clock.Sleep(ctx, 200*time.Millisecond) // the loop ends with ctx
		}
	}
	cp.mu.Lock()
	defer cp.mu.Unlock()
	cp.ready = ctx.Err() == nil
}

func (cp *controlPlane) nodeNames() []string {
	var names []string
	for name := range cp.kubelets {
		names = append(names, "node/"+name)
	}
	return names
}

// runKubectl runs kubectl as administrator.
func (cp *controlPlane) runKubectl(ctx context.Context, stdin string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, cp.Programs.Kubectl(), append([]string{"--kubeconfig=" + cp.Folder.Kubeconfig(Admin), "--request-timeout=10s"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = []string{"HOME=" + string(cp.Folder), "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w: %.200s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}

var errUnknown = errors.New("unknown")

// statusOf returns the status of an answer to a request of control.
func statusOf(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, errUnknown):
		return http.StatusNotFound
	}
	return http.StatusServiceUnavailable
}
