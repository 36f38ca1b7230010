package config

import (
	"os/exec"
	"strings"
	"testing"
)

// The table has all settings that the systemd of this machine knows.
func TestUnitKeysOfSystemd(t *testing.T) {
	dump, err := exec.Command("/usr/lib/systemd/systemd", "--dump-configuration-items").Output()
	if err != nil {
		t.Skip("there is no systemd here")
	}
	section, count := "", 0
	for line := range strings.SplitSeq(string(dump), "\n") {
		if name, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSuffix(name, "]")
			continue
		}
		key, _, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		if count++; !unitKeys()[section][key] {
			t.Errorf("systemd knows %s= in [%s]; add it to unitkeys.txt", key, section)
		}
	}
	if count < 100 {
		t.Errorf("found only %d settings", count)
	}
}

func TestOneSlip(t *testing.T) {
	for words, want := range map[string]bool{
		"Restrat Restart": true, "restart Restart": true, "Restar Restart": true, "Reestart Restart": true, "Restort Restart": true,
		"Restarts RestartSec": false, "CPUWeight IOWeight": false, "Retsrat Restart": false,
	} {
		a, b, _ := strings.Cut(words, " ")
		if got := isOneSlip(a, b); got != want {
			t.Errorf("%s: got %t", words, got)
		}
	}
}
