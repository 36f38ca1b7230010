package mirror

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
)

// pathWithoutTLS is a path on which somebody resets TLS and answers http with a demand for the password.
type pathWithoutTLS struct {
	passwords int
	plain     []string // hosts of requests without TLS
}

func (p *pathWithoutTLS) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, password, ok := r.BasicAuth(); ok && password != "" {
		p.passwords++
	}
	if r.URL.Scheme == "https" {
		return nil, errors.New("connection reset by peer")
	}
	p.plain = append(p.plain, r.URL.Host)
	return &http.Response{
		StatusCode: http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {`Basic realm="registry"`}},
		Body: io.NopCloser(strings.NewReader("")), Request: r,
	}, nil
}

// TestPasswordsOfRegistriesAreEncrypted checks that nothing is asked without TLS beyond this machine, although the library
// would try it for these names.
func TestPasswordsOfRegistriesAreEncrypted(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	for registry, isLocal := range map[string]bool{
		"10.0.0.5:5000": false, "192.168.7.7": false, "registry.localhost:5000": false,
		"127.0.0.1:5000": true, "localhost:5000": true, "[::1]:5000": true,
	} {
		auth := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, registry, base64.StdEncoding.EncodeToString([]byte("ann:s3cret")))
		if err := os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), []byte(auth), 0o600); err != nil {
			t.Fatal(err)
		}
		path := &pathWithoutTLS{}
		_, err := registrySource{registry + "/acme/os", path}.readManifest(t.Context(), Wanted{}, "1")
		if err == nil || (len(path.plain) > 0) != isLocal || (path.passwords > 0) != isLocal {
			t.Errorf("%s: %d passwords, without TLS to %q: %v", registry, path.passwords, path.plain, err)
		}
		if !isLocal && !strings.Contains(err.Error(), "http://"+registry+" is refused") {
			t.Errorf("%s: %v", registry, err)
		}
	}
}

// TestNoPasswordInFrom checks that a password in --from is refused before anything is made or run, and that no message
// repeats it. Without one, the address reaches ostree unchanged.
func TestNoPasswordInFrom(t *testing.T) {
	bin := t.TempDir()
	ran := filepath.Join(bin, "ran")
	if err := os.WriteFile(filepath.Join(bin, "ostree"), []byte("#!/bin/sh\necho \"$@\" >>"+ran+"\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	commits, images := []Wanted{{Ref: "r", Commit: strings.Repeat("0", 64)}}, []Wanted{{Image: "quay.invalid/x@sha256:" + strings.Repeat("0", 64)}}
	for from, c := range map[string]struct {
		wanted []Wanted
		err    string
	}{
		"https://ann:s3cret@ostree.invalid/repo":  {commits, "--from has a user before ostree.invalid, which"},
		"https://ann:s3cret@x@ostree.invalid:443": {commits, "--from has a user before ostree.invalid:443, which"},
		"https://s3cret@ostree.invalid/repo":      {commits, "holdfast mirror --from with the folder"},
		"docker://ann:s3cret@quay.invalid/os":     {images, "podman login"},
		"https://ostree.invalid/repo/a@b":         {commits, "ostree init"},
	} {
		folder := filepath.Join(t.TempDir(), "mirror")
		var out bytes.Buffer
		_, err := Update(t.Context(), engine.Mirror{Repository: filepath.Join(folder, "repo"), Layout: filepath.Join(folder, "images")}, Upstream{from, c.wanted}, &out)
		if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error()+out.String(), "s3cret") {
			t.Errorf("%s: %v", from, err)
		}
		if _, err := os.Stat(folder); strings.Contains(from, "s3cret") && !os.IsNotExist(err) {
			t.Errorf("%s: something was made: %v", from, err)
		}
	}
	if args, err := os.ReadFile(ran); err != nil || strings.Contains(string(args), "s3cret") || strings.Count(string(args), "\n") != 1 {
		t.Errorf("ostree ran with %q, %v", args, err)
	}
}
