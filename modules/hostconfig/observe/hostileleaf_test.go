package observe_test

import (
	"os"
	"testing"
	"time"

	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe/observetest"
)

// An account replaces only a file, directly before root reads it. The probe does not read the target of a link, and does not
// wait for a pipe.
func TestLooksAreSafeFromFilesThatAreReplaced(t *testing.T) {
	for name, put := range map[string]string{"link": `ln -s "$BOX/../root/other.conf" ./other.conf`, "pipe": "mkfifo ./other.conf"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := hostileProbe(t)
			s.WriteFile("/fake/dd", "#!/bin/sh\ncase $* in *if=./other.conf*) rm ./other.conf; "+put+"; : >\"$BOX/../replaced\" ;; esac\nexec "+observetest.ToolPath(t, "dd")+" \"$@\"\n", 0o755)
			began := time.Now()
			f := s.Read(c)
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("the probe has waited for %v", took)
			}
			if _, err := os.Stat(s.Root + "/replaced"); err != nil {
				t.Fatal("nothing was replaced:", err)
			}
			if f.Nodes["/srv/app/other.conf"].Digest == resource.Digest([]byte(observetest.Secret)) {
				t.Error("the probe has read a file of root")
			}
		})
	}
}
