package etcd

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
)

// maxVersionAnswer bounds the answer of /version, in bytes. etcd's has about 60.
const maxVersionAnswer = 4096

// semanticVersion is the form in which etcd writes versions.
var semanticVersion = regexp.MustCompile(`^[0-9]{1,4}(\.[0-9]{1,4}){1,2}(-[0-9A-Za-z.-]{1,40})?$`)

// readClusterVersion asks the member on the i-th host for the version of the cluster. It returns "" if the version is
// not known or etcd has not decided on it yet. The version of the cluster is the lowest minor version of all members.
// etcd raises it after the last member is updated. The gRPC API does not have this version.
func (c *Cluster) readClusterVersion(ctx context.Context, i int) string {
	target := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(c.cfg.ClientPort)) + "/version"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return ""
	}
	request.Close = true
	response, err := c.versions[i].Do(request)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }() // only read
	var said struct {
		Cluster string `json:"etcdcluster"`
	}
	if response.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(response.Body, maxVersionAnswer)).Decode(&said) != nil {
		return ""
	}
	return versionText(said.Cluster)
}

// versionText returns "" if the text is not a version: an etcd that knows no version reports a word.
func versionText(said string) string {
	if !semanticVersion.MatchString(said) {
		return ""
	}
	return said
}

func (c *Cluster) listenForClients(context.Context) (listener, error) { return c.clients, nil }
