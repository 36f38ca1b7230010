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
	act := actScript(moduletest.By("r1"), rules.Action{Action: engine.Action{Type: engine.ReloadDaemon}}, nil)
	for name, x := range map[string]engine.Exec{"write": w.buildScript(), "act": act, "record": recordScript(moduletest.By("r1"), nil, false)} {
		if strings.Contains(x.Script.String(), "/fault") {
			t.Errorf("%s can be stopped by a file", name)
		}
	}
}
