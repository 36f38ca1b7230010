package etcd

import (
	"testing"

	"holdfast/engine/etcdfacts"
)

// TestClientURL checks which URLs count as usable by clients on other hosts. A member may advertise any text.
func TestClientURL(t *testing.T) {
	t.Parallel()
	c := &Cluster{cfg: Config{Peers: []Peer{{Host: "a", Address: "::ffff:127.1.2.3"}}}}
	for text, want := range map[string]string{
		"https://10.0.0.1:2379":        "https://10.0.0.1:2379",
		"https://10.0.0.1:2379/":       "https://10.0.0.1:2379",
		"https://u:p@etcd-0.example":   "https://etcd-0.example",
		"http://[2001:db8::1]:2379":    "http://[2001:db8::1]:2379",
		"http://127.1.2.3:2379":        "http://127.1.2.3:2379", // the address of the host in the inventory
		"http://127.0.0.1:2379":        "",
		"http://localhost:2379":        "",
		"http://[::1]:2379":            "",
		"http://0.0.0.0:2379":          "",
		"unix:///run/etcd.sock":        "",
		"http://":                      "",
		"http://a b:2379":              "",
		"http://10.0.0.1:99999":        "",
		"http://10.0.0.1:0":            "",
		"http://[fe80::1%25eth0]:2379": "",
		"http://$(reboot):2379":        "",
		"http://`reboot`:2379":         "",
		"http://a;reboot;:2379":        "",
		"http://a|b&c:2379":            "",
		"http://a,http://b:2379":       "",
		"http://a'b\"c:2379":           "",
		"http://a*?!{}<>:2379":         "",
		"http://-rf:2379":              "",
		"http://a\nb:2379":             "",
		"http://10.0.0.1:2379/$(x)":    "http://10.0.0.1:2379",
		"":                             "",
		"javascript:alert(\x1b[2J)//":  "",
	} {
		got, problem := c.clientURL(etcdfacts.Member{Name: "m", Host: "a"}, text)
		if got != want || (problem == "") != (want != "") {
			t.Errorf("%q: %q, %q, want %q", text, got, problem, want)
		}
		for _, r := range problem {
			if r < ' ' {
				t.Errorf("%q: control characters in %q", text, problem)
			}
		}
	}
}
