package bastion

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/power"
	"holdfast/engine/textutil"
)

// TestPowerCommands: commands of the inventory switch the power of the host that their environment names.
func TestPowerCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := filepath.Join(dir, "w-1 10.0.0.1 worker")
	if err := os.WriteFile(state, []byte("off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const file = `"$HOLDFAST_HOST $HOLDFAST_ADDRESS $HOLDFAST_POOL"`
	host := engine.Host{Name: "w-1", Address: "10.0.0.1", Pool: "worker", Power: &engine.PowerCommands{On: "echo ON >" + file, Off: "echo off >" + file, Status: "printf 'Chassis Power is '; cat " + file}}
	c := PowerCommands{Commands: Commands{Dir: dir}, Host: host}
	for _, s := range []struct{ to, want string }{{"on", power.On}, {"off", power.Off}} {
		err := power.Switcher{Clock: clock.Real{}, Before: func(string) error { return nil }}.Switch(t.Context(), c, engine.SwitchPower{To: engine.PowerTarget(s.to)})
		now, stateErr := c.State(t.Context())
		if err != nil || stateErr != nil || now.Power != s.want {
			t.Errorf("%s: %v, %v, %q", s.to, err, stateErr, now.Power)
		}
	}
	err := power.Switcher{Clock: clock.Real{}, Before: func(string) error { return nil }}.Switch(t.Context(), c, engine.SwitchPower{To: engine.PowerReset})
	if err == nil || !strings.Contains(err.Error(), "only a host that is on is reset") {
		t.Errorf("reset of a host that is off: %v", err)
	}
}

// TestBadPowerCommands: the error names the command and its cause, and shows no sensitive value, not even a part of one.
func TestBadPowerCommands(t *testing.T) {
	t.Parallel()
	const secret = "0123456789-s3cret-0123456789-s3cret-0123456789-s3cret"
	for status, want := range map[string]string{
		"true":                               `the last word of its output is ""`,
		"echo unknown":                       `the last word of its output is "unknown"`,
		"printf '\\033[2J'":                  `\x1b[2J`,
		"echo " + secret:                     `the last word of its output is "(sensitive)"`,
		"echo on; echo no route >&2; exit 3": "exit status 3: no route",
		"echo " + secret + " >&2; exit 1":    "exit status 1: (sensitive)",
	} {
		c := PowerCommands{Commands: Commands{Dir: t.TempDir(), Secrets: textutil.NewSecrets([]string{secret})}, Host: engine.Host{Power: &engine.PowerCommands{Status: status}}}
		_, err := c.State(t.Context())
		if err == nil || !strings.Contains(err.Error(), "command status of the power block") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret[:10]) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v", status, err)
		}
	}
}
