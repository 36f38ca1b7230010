package inventory_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/engine/inventory"
)

// TestOneMachineUnderTwoNames checks that two hosts are refused if their addresses
// are spellings of one, also with the default port written out.
func TestOneMachineUnderTwoNames(t *testing.T) {
	for _, c := range []struct {
		first, second string // addresses, with further arguments
		isSame        bool
	}{
		{`10.0.0.1"`, `10.0.0.1"`, true},
		{`10.0.0.1"`, `10.0.0.1" ~ ssh { port = 22 }`, true},
		{`10.0.0.1"`, `10.0.0.1" ~ ssh { port = 2222 }`, false},
		{`10.0.0.1"`, `10.0.0.1" ~ ssh { proxy_jump = "gate" }`, false},
		{`10.0.0.1"`, `::ffff:10.0.0.1"`, true},
		{`fd00::1"`, `fd00:0::1"`, true},
		{`fd00::a"`, `FD00::A"`, true},
		{`fd00::1"`, `fd00::2"`, false},
		{`host.example"`, `HOST.example."`, true},
		{`host.example"`, `host"`, false},
	} {
		text := "site \"s\" {}\npool \"p\" {}\n"
		for name, address := range map[string]string{"a": c.first, "b": c.second} {
			text += fmt.Sprintf("host %q {\n  pool = \"p\"\n  address = \"%s\n}\n", name, strings.ReplaceAll(address, "~", "\n"))
		}
		_, err := inventory.Load(inventory.Source{FS: fstest.MapFS{"a.hcl": {Data: []byte(text)}}, Paths: []string{"a.hcl"}})
		if isRefused := err != nil && strings.Contains(err.Error(), "has the address of"); isRefused != c.isSame || err != nil && !isRefused {
			t.Errorf("%s and %s: %v", c.first, c.second, err)
		}
	}
}
