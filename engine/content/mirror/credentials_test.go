package mirror

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
