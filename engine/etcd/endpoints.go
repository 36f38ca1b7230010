package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"holdfast/engine/etcdfacts"
	"holdfast/engine/textutil"
)

// Endpoints are the URLs at which clients reach a cluster.
type Endpoints struct {
	Cluster  string   `json:"cluster"`
	URLs     []string `json:"urls"`               // of the voters, as they advertise them, in the order of the inventory
	Problems []string `json:"problems,omitempty"` // sentences: reasons why a client may be unable to use a URL
}

// Endpoints returns the client URLs of the voters. It includes voters that are not healthy, because clients try the
// others. It leaves out learners, because they serve no linearizable reads. It fails if no voter has a URL.
func (c *Cluster) Endpoints(ctx context.Context) (Endpoints, error) {
	view, facts := c.gatherView(ctx)
	e := Endpoints{Cluster: c.cfg.Name, Problems: facts.FindProblems(func(string) bool { return false })}
	for _, m := range facts.Members {
		i := slices.IndexFunc(view.members, func(listed *pb.Member) bool { return hexID(listed.ID) == m.ID })
		if m.Learner || i < 0 {
			continue
		}
		for _, text := range slices.Sorted(slices.Values(view.members[i].ClientURLs)) {
			u, problem := c.clientURL(m, text)
			if problem != "" {
				e.Problems = append(e.Problems, problem)
			}
			if u != "" && !slices.Contains(e.URLs, u) {
				e.URLs = append(e.URLs, u)
			}
		}
	}
	if len(e.URLs) == 0 {
		return e, c.cfg.stepError("list the client URLs", errors.New(strings.Join(append([]string{"there is none"}, e.Problems...), "; ")))
	}
	return e, nil
}

func (c *Cluster) clientURL(m etcdfacts.Member, text string) (address, problem string) {
	u, ok := parseMemberURL(text)
	if !ok {
		return "", fmt.Sprintf("member %s advertises %q, which is not a URL of http or https; set advertise-client-urls", m.Name, printableText(text))
	}
	address = u.String()
	if i := c.cfg.peerIndex(m.Host); i >= 0 && textutil.IsSameAddress(u.host, c.cfg.Peers[i].Address) {
		return address, ""
	}
	if ip := net.ParseIP(u.host); u.host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		return "", fmt.Sprintf("member %s advertises %s, which no other host can reach; set advertise-client-urls", m.Name, address)
	}
	return address, ""
}
