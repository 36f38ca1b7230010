//go:build !fault

package hostconfig

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/rules"
	"holdfast/modules/moduletest"
)

// A file in /run/holdfast cannot stop the scripts of a production build.
func TestHostsAreSentNoTestHook(t *testing.T) {
	w := crashSite(t).crashWrite(true)
	write, _ := w.buildScript()
	act, _ := actScript(moduletest.By("r1"), rules.Action{Action: engine.Action{Type: engine.ReloadDaemon}}, nil)
	record, _ := recordScript(moduletest.By("r1"), nil, false)
	for name, script := range map[string]engine.Script{"write": write, "act": act, "record": record} {
		if strings.Contains(script.String(), "/fault") {
			t.Errorf("%s can be stopped by a file", name)
		}
	}
}
