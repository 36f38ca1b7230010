//go:build !fault

package modules

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/rules"
)

// A file in /run/holdfast cannot stop the scripts of a production build.
func TestHostsAreSentNoTestHook(t *testing.T) {
	w := crashSite(t).crashWrite(true)
	write, _ := w.buildScript(by("r1"))
	act, _ := actScript(by("r1"), rules.Action{Action: engine.Action{Type: engine.ReloadDaemon}}, nil)
	record, _ := recordScript(by("r1"), nil, false)
	for name, script := range map[string]string{"write": write, "act": act, "record": record} {
		if strings.Contains(script, "/fault") {
			t.Errorf("%s can be stopped by a file", name)
		}
	}
}
