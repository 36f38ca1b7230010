package etcd

import (
	"context"
	"net"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// TestPeerTargets checks which addresses of a member are asked for its peer certificate, and in which order.
func TestPeerTargets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		address string
		urls    []string
		want    []string // guessed addresses begin with ?
	}{
		"the address of the host": {"10.0.0.1", []string{"https://10.0.0.1:2380"}, []string{"10.0.0.1:2380", "?127.0.0.1:2380"}},
		"another address":         {"web1", []string{"https://10.9.0.1:12380"}, []string{"10.9.0.1:12380", "?web1:12380", "?127.0.0.1:12380"}},
		"the loopback":            {"10.0.0.1", []string{"https://127.0.0.1:2380"}, []string{"127.0.0.1:2380", "?10.0.0.1:2380"}},
		"IPv6":                    {"", []string{"https://[fd00::1]:2380"}, []string{"[fd00::1]:2380", "?127.0.0.1:2380"}},
		"some with TLS":           {"", []string{"http://a:1", "https://b:2"}, []string{"b:2", "?127.0.0.1:2"}},
		"many":                    {"", []string{"https://a:1", "https://b:1", "https://c:1", "https://d:1"}, []string{"a:1", "b:1", "c:1", "?127.0.0.1:1"}},
		"no TLS":                  {"10.0.0.1", []string{"http://10.0.0.1:2380"}, nil},
		"no address":              {"10.0.0.1", []string{"https://0.0.0.0:2380", "https://[::]:2380", "https://a b:1", "https://a", "https://u@a:x"}, nil},
	} {
		var got []string
		for _, target := range listPeerTargets(Peer{Address: c.address}, c.urls) {
			if target.guessed {
				target.address = "?" + target.address
			}
			got = append(got, target.address)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := guessPeerTargets(Peer{Address: "10.0.0.1"}, 2380); len(got) != 2 || got[0].guessed || !got[1].guessed || got[1].address != "127.0.0.1:2380" {
		t.Errorf("%+v", got)
	}
}

// TestSilentPeerTarget checks that an address that does not answer leaves the next one its share of the time.
func TestSilentPeerTarget(t *testing.T) {
	t.Parallel()
	member := httptest.NewTLSServer(nil)
	defer member.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	p := Peer{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != "silent:2380" {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		if deadline, _ := ctx.Deadline(); time.Until(deadline) > 20*time.Minute { // a third, because the loopback is asked, too
			t.Errorf("it may be silent until %s", deadline)
		}
		near, far := net.Pipe()
		return near, far.Close() // as if its time had ended
	}}
	targets := listPeerTargets(p, []string{"https://silent:2380", member.URL})
	if chain := new(Config).presentedAt(ctx, p, targets); len(chain) == 0 || !chain[0].Equal(member.Certificate()) {
		t.Errorf("%d certificates", len(chain))
	}
}
