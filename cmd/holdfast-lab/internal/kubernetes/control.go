package kubernetes

import (
	"context"
	_ "embed" // embeds the rights
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine/clock"
)

// rights are the least rights of holdfast, as in examples/kubernetes-rbac.yaml.
//
//go:embed rbac.yaml
var rights string

const leaseNamespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: medik8s-leases}\n---\n"

// Action is an action on the API server or on the kubelet of a node.
type Action string

// The API server can be killed, started and frozen, also so that it runs only while a host is up. A kubelet can be stopped and started
// while its host stays up.
const (
	Stop   Action = "stop"
	Start  Action = "start"
	Freeze Action = "freeze"
	Thaw   Action = "thaw"
	On     Action = "on" // with the name of a host; "" makes it independent again
)

func (cp *controlPlane) serveControl(ctx context.Context) error {
	mux := http.NewServeMux()
	answer := func(do func(r *http.Request) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			err := do(r)
			w.WriteHeader(statusOf(err))
			if err != nil {
				_, _ = fmt.Fprint(w, err) // the client may be gone
			}
		}
	}
	mux.HandleFunc("GET /ready", answer(func(*http.Request) error { return cp.checkReady() }))
	mux.HandleFunc("GET /api", answer(func(r *http.Request) error { return cp.runKubectl(r.Context(), "", "get", "--raw=/readyz") }))
	mux.HandleFunc("POST /api", answer(func(r *http.Request) error { return cp.changeAPI(Action(r.FormValue("do")), r.FormValue("name")) }))
	mux.HandleFunc("POST /kubelet", answer(func(r *http.Request) error { return cp.changeKubelet(Action(r.FormValue("do")), r.FormValue("name")) }))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cp.Cluster.ControlAddress())
	if err != nil {
		return fmt.Errorf("control Kubernetes: %w", err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve returns the error
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("control Kubernetes: %w", err)
	}
	return nil
}

func (cp *controlPlane) checkReady() error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if !cp.ready {
		return errors.New("it is not complete")
	}
	return nil
}

func (cp *controlPlane) changeAPI(a Action, name string) error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	switch a {
	case Stop, Start:
		cp.wanted = a == Start
		return nil
	case Freeze:
		return cp.api.sendSignal(unix.SIGSTOP)
	case Thaw:
		return cp.api.sendSignal(unix.SIGCONT)
	case On:
		if name != "" && cp.kubelets[name] == nil {
			return fmt.Errorf("host %s: %w", name, errUnknown)
		}
		cp.apiHost = name
		_ = cp.api.sendSignal(unix.SIGKILL) // it starts again, with the member of its host
		return nil
	}
	return fmt.Errorf("action %s: %w", a, errUnknown)
}

func (cp *controlPlane) changeKubelet(a Action, name string) error {
	k := cp.kubelets[name]
	if k == nil || a != Stop && a != Start {
		return fmt.Errorf("action %s on node %s: %w", a, name, errUnknown)
	}
	k.setStopped(a == Stop)
	return nil
}

// Client controls a cluster.
type Client struct {
	Cluster Cluster
	// Dial opens a connection inside the network of the lab.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// WaitReady waits until the API answers and all nodes are Ready.
func (c Client) WaitReady(ctx context.Context) error {
	for {
		err := c.sendRequest(ctx, http.MethodGet, "/ready", nil)
		if err == nil {
			return nil
		}
		if pauseErr := clock.Sleep(ctx, 100*time.Millisecond); pauseErr != nil {
			return fmt.Errorf("wait for Kubernetes: %w", errors.Join(pauseErr, err))
		}
	}
}

// CheckAPI returns an error unless the API server is ready.
func (c Client) CheckAPI(ctx context.Context) error {
	return c.sendRequest(ctx, http.MethodGet, "/api", nil)
}

// ChangeAPI changes the API server. Only On takes the name of a host.
func (c Client) ChangeAPI(ctx context.Context, a Action, host string) error {
	return c.sendRequest(ctx, http.MethodPost, "/api", url.Values{"do": {string(a)}, "name": {host}})
}

// ChangeKubelet stops or starts the kubelet of a node.
func (c Client) ChangeKubelet(ctx context.Context, a Action, node string) error {
	return c.sendRequest(ctx, http.MethodPost, "/kubelet", url.Values{"do": {string(a)}, "name": {node}})
}

func (c Client) sendRequest(ctx context.Context, method, path string, form url.Values) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+c.Cluster.ControlAddress()+path, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := http.Client{Transport: &http.Transport{DialContext: c.Dial, DisableKeepAlives: true}, Timeout: 20 * time.Second}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("control Kubernetes: %s", strings.TrimSpace(string(text)))
	}
	return err
}
