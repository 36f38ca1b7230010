package sshconfig

import "testing"

func TestParseJump(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []Hop
		fine bool
	}{
		{"", nil, true},
		{"none", nil, true},
		{"bastion", []Hop{{host: "bastion"}}, true},
		{"ann@bastion:2222, inner", []Hop{{"ann", "bastion", 2222}, {host: "inner"}}, true},
		{"ssh://ann@bastion:22/", []Hop{{"ann", "bastion", 22}}, true},
		{"a@b@bastion", []Hop{{user: "a@b", host: "bastion"}}, true},
		{"[fe80::1]:22", []Hop{{host: "fe80::1", port: 22}}, true},
		{"fe80::1", []Hop{{host: "fe80::1"}}, true},
		{"fe80::1%eth0", []Hop{{host: "fe80::1%eth0"}}, true},
		{"ann@[fe80::1%eth0]:22", []Hop{{"ann", "fe80::1%eth0", 22}}, true},
		{"[fe80::1%eth0]", []Hop{{host: "fe80::1%eth0"}}, true},
		{"fe80::1%", nil, false},
		{"fe80::zz%eth0", nil, false},
		{"bastion:0", nil, false},
		{"bastion:ssh", nil, false},
		{"a:b:c", nil, false},
		{"a,,b", nil, false},
		{"ann@", nil, false},
	} {
		got, err := parseJump(c.in)
		if (err == nil) != c.fine || len(got) != len(c.want) {
			t.Errorf("%q: %v, %v", c.in, got, err)
			continue
		}
		for n := range got {
			if got[n] != c.want[n] {
				t.Errorf("%q: %+v, want %+v", c.in, got[n], c.want[n])
			}
		}
	}
}
