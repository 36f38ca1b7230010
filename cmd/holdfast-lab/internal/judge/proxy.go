package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
	"k8s.io/client-go/rest"

	"holdfast/engine/kube/judgetest"
	"holdfast/engine/kubefacts"
)

// agent names the client whose evictions the proxy makes dry runs, and whose answers it remembers.
const agent = "holdfast-judge"

// proxy is an API server on loopback that asks the one of the lab. It makes evictions dry runs.
type proxy struct {
	kubeconfig string
	server     *http.Server
	wg         conc.WaitGroup

	mu      sync.Mutex
	answers map[string]judgetest.Answer // by the path of the eviction
}

func startProxy(ctx context.Context, c Config) (*proxy, error) {
	transport, err := rest.TransportFor(c.API)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(c.API.Host)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{kubeconfig: filepath.Join(c.Folder, "judge.kubeconfig"), answers: map[string]judgetest.Answer{}}
	p.server = &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: &httputil.ReverseProxy{
		Transport: transport, ModifyResponse: p.rememberAnswer,
		ErrorLog: log.New(io.Discard, "", 0), // of clients that have ended; others tell their users
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if isEviction(r.Out) && r.Out.UserAgent() == agent {
				r.Out.URL.RawQuery = "dryRun=All"
				r.Out.Header.Del("Accept-Encoding") // the answer is read here
			}
		},
	}}
	p.wg.Go(func() { _ = p.server.Serve(listener) }) // it ends with stopProxy
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"judge","contexts":[{"name":"judge","context":{"cluster":"judge","user":"judge"}}],
"clusters":[{"name":"judge","cluster":{"server":"http://%s"}}],"users":[{"name":"judge","user":{"token":"none"}}]}`, listener.Addr())
	if err := os.WriteFile(p.kubeconfig, []byte(text), 0o600); err != nil {
		p.stopProxy()
		return nil, err
	}
	return p, nil
}

func (p *proxy) stopProxy() {
	_ = p.server.Close()
	p.wg.Wait()
}

func isEviction(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/eviction")
}

func (p *proxy) rememberAnswer(r *http.Response) error {
	if !isEviction(r.Request) {
		return nil
	}
	r.Header.Del("Retry-After") // kubectl would try ten times in silence, for 100 s
	if r.Request.UserAgent() != agent {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var a judgetest.Answer
	if err := json.Unmarshal(body, &a); err != nil {
		return err
	}
	a.Code = r.StatusCode
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[r.Request.URL.Path] = a
	return nil
}

func (p *proxy) answerOf(pod kubefacts.Pod) judgetest.Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answers[fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/eviction", pod.Namespace, pod.Name)]
}
