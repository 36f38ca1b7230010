package draft_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine/draft"
	"holdfast/engine/remote/sshconfig"
)

func readSSH(t *testing.T, text string) draft.Site {
	t.Helper()
	files := sshconfig.NewReader(func(string) ([]byte, error) { return []byte(text), nil }, nil)
	config, err := sshconfig.Read("config", "/home/ann", true, files)
	if err != nil {
		t.Fatal(err)
	}
	return draft.FromSSH(config.ListAliases("/home/ann"))
}

// TestSecondNames checks that two names are one machine only if ssh reaches them in the same way: two sites
// behind gates of their own may have the same addresses.
func TestSecondNames(t *testing.T) {
	const address = "  HostName 10.0.0.11\n"
	for name, c := range map[string]struct {
		first, second string // settings of the two hosts
		isSame        bool
	}{
		"nothing":             {address, address, true},
		"port":                {address, address + "  Port 2222\n", false},
		"default port":        {address, address + "  Port 22\n", true},
		"spelling":            {"  HostName fd00::a\n", "  HostName FD00:0::A\n", true},
		"one jump host":       {address + "  ProxyJump gate\n", address + "  ProxyJump gate\n", true},
		"two jump hosts":      {address + "  ProxyJump gate-b\n", address + "  ProxyJump gate-o\n", false},
		"jump host, none":     {address + "  ProxyJump gate-b\n", address, false},
		"none and nothing":    {address + "  ProxyJump none\n", address, true},
		"jump as a command":   {address + "  ProxyCommand ssh -W %h:%p gate-b\n", address + "  ProxyCommand ssh -W %h:%p gate-o\n", false},
		"one command":         {address + "  ProxyCommand nc -x socks %h %p\n", address + "  ProxyCommand nc -x socks %h %p\n", true},
		"two commands":        {address + "  ProxyCommand nc -x socks-b %h %p\n", address + "  ProxyCommand nc -x socks-o %h %p\n", false},
		"command and nothing": {address + "  ProxyCommand nc -x socks %h %p\n", address, false},
	} {
		s := readSSH(t, "Host berlin\n"+c.first+"Host oslo\n"+c.second)
		want := []string{"berlin"}
		if !c.isSame {
			want = append(want, "oslo")
		}
		var got []string
		for _, h := range s.Hosts {
			got = append(got, h.Name)
		}
		if !slices.Equal(got, want) || c.isSame != strings.Contains(strings.Join(s.Remarks, "\n"), "same machine") {
			t.Errorf("%s: hosts %v, remarks %q", name, got, s.Remarks)
		}
	}
}

// TestOmittedNames checks that names after the limit are told.
func TestOmittedNames(t *testing.T) {
	s := draft.FromSSH(sshconfig.Aliases{
		Named:   []sshconfig.Alias{{Name: "a", At: "config:1", Host: "a", Port: 22}},
		Omitted: []sshconfig.Alias{{Name: "b", At: "config:10001"}, {Name: "c", At: "config:10002"}},
	})
	want := []string{"config:10001: only the first 10000 names of a file are read; 2 names from this one on are left out"}
	if len(s.Hosts) != 1 || !slices.Equal(s.Remarks, want) {
		t.Errorf("%+v", s)
	}
}
